/// ObsPy, the Python library of seismologists (https://docs.obspy.org).
public enum ObsPy {
    /// The Python that has it; nil when it cannot be installed.
    public static let python: String? = installed(by: "obspy")
}
