import CPostgreSQL

/// Where a server is and how to reach it: a set of libpq's connection keywords.
///
/// libpq takes all other options from the `PG…` environment variables, the service file and the password file,
/// as in every PostgreSQL client (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS).
///
/// The description never contains a password.
public struct ConnectionOptions: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    private var keywords: [String: String] = [:]

    /// Whether a session sets its `search_path` to `pg_catalog, pg_temp` if the path contains a schema in which anyone may create
    /// functions, such as `public` in a database that was created before PostgreSQL 15. In such a schema, another login could
    /// create a function `format(text, text)`. A call of `format` with two texts would then run that function, with this
    /// session's rights, because its parameters match the call more exactly than those of PostgreSQL's own
    /// `format(text, variadic "any")` (https://www.postgresql.org/docs/current/typeconv-func.html). Statements must then
    /// name the schema of every table.
    public var avoidsOpenSchemas = false

    /// Creates options without keywords: libpq takes all of them from the environment.
    public init() {}

    /// Reads a URL (`postgresql://user@host/database?…`) or a `keyword=value …` string.
    ///
    /// - Throws: `PostgresError` when libpq does not accept the text, or would read part of the password as the host or the
    ///   database. The error never quotes the input, which may contain a password.
    public init(_ conninfo: String) throws(PostgresError) {
        let scheme = ["postgresql://", "postgres://"].first { conninfo.utf8.starts(with: $0.utf8) }
        if let scheme, Self.hasBarePasswordCharacters(conninfo.unicodeScalars.dropFirst(scheme.count)) {
            throw Self.unreadable(
                "the user or the password contains an @ or a / that is not percent-encoded",
                remedy: "write %40 for @ and %2F for /")
        }
        // For a URL with another scheme, libpq's own message would ask for an equals sign.
        if scheme == nil,
            !conninfo.contains("=") || conninfo.prefixMatch(of: #/[A-Za-z][A-Za-z0-9+.-]*:/#) != nil
        {
            throw Self.unreadable("it is not a postgresql URL")
        }
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(conninfo, &message) else {
            // libpq's message quotes the offending part of the input, or all of it.
            let words = message.map { String(cString: $0) } ?? "out of memory"
            PQfreemem(message)
            let reason = String(words.unicodeScalars.prefix { $0 != "\"" })
            throw Self.unreadable(reason.replacing(#/[\s:]+$/#, with: ""))
        }
        keywords = takeKeywords(of: options)
        if keywords["dbname"]?.contains("://") == true {
            throw Self.unreadable("the database name is itself a URL")
        }
    }

    /// libpq ends the credentials of a URL at the first @ before the first /. If another @ follows before the parameters, the
    /// credentials were probably meant to end there, and the user or the password contains the earlier @ or /.
    private static func hasBarePasswordCharacters(_ rest: Substring.UnicodeScalarView) -> Bool {
        var rest = rest
        if let end = rest.firstIndex(where: { $0 == "@" || $0 == "/" }), rest[end] == "@" {
            rest = rest[rest.index(after: end)...]
        }
        return rest.prefix { $0 != "?" }.contains("@")
    }

    private static func unreadable(
        _ reason: String, remedy: String = "write it as postgresql://user@host:5432/database"
    ) -> PostgresError {
        PostgresError(operation: "read the database URL", message: reason, remedy: remedy)
    }

    /// The value of a libpq keyword, such as `host` or `dbname`; nil when it was not given.
    public subscript(keyword: String) -> String? {
        get { keywords[keyword] }
        set { keywords[keyword] = newValue }
    }

    /// The keywords that are passed to libpq: the given ones, and defaults for keepalives and timeouts. The defaults keep a
    /// scheduled run from hanging for hours when the network drops all packets.
    var effective: [String: String] {
        var all = [
            "fallback_application_name": "quakes",
            "keepalives_idle": "30",
            "keepalives_interval": "10",
            "keepalives_count": "3",
            "tcp_user_timeout": "60000",
        ]
        all.merge(keywords) { _, given in given }
        // This is not configurable, because this module decodes text as UTF-8.
        all["client_encoding"] = "UTF8"
        return all
    }

    public var description: String {
        let shown = ["service", "user", "host", "hostaddr", "port", "dbname"].compactMap { keyword in
            self[keyword].map { "\(keyword)=\($0)" }
        }
        return shown.isEmpty
            ? "the server given by the PG environment variables" : shown.joined(separator: " ")
    }

    /// The mirror is empty, so that `dump` does not show the password.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
