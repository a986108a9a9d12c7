import Glibc

/// The resources that the process uses, as metrics with the names that Prometheus's client libraries use
/// (https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics).
enum ProcessUse {
    static func append(to text: inout MetricsText) {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        text.family(
            "process_cpu_seconds_total", .counter, "The processor time that the process has used.")
        text.sample("process_cpu_seconds_total", [], Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
        text.gauge(
            "process_resident_memory_bytes", "The resident memory of the process.",
            residentPages * sysconf(Int32(_SC_PAGESIZE)))
        text.gauge("process_open_fds", "Files and connections that the process has open.", OpenFiles.count)
        text.gauge(
            "process_max_fds", "Files and connections that the process may have open.", OpenFiles.limit)
    }

    /// The resident memory in pages: the second number of proc_pid_statm(5).
    private static var residentPages: Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
        let numbers = line.split(separator: CChar(bitPattern: UInt8(ascii: " ")))
        return numbers.dropFirst().first.flatMap { Int(String(decoding: $0.map(UInt8.init), as: UTF8.self)) }
            ?? 0
    }
}
