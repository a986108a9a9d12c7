import Feed
import Foundation
import Logging
import PostgreSQL
import QuakeStore
import TestSupport

extension Importer.Options {
    /// Options that reach every http URL through the server, for any host.
    static func through(_ server: TestFeedServer) -> Importer.Options {
        var options = Importer.Options()
        options.fetch.proxies = ProxySettings(environment: ["http_proxy": "http://127.0.0.1:\(server.port)"])
        options.fetch.sleep = { _ in }
        return options
    }
}

extension TestDatabase {
    /// Sweeps the service once, or imports another source that the test server answers.
    @discardableResult
    func sweep(
        _ source: String = TestCatalogue.service, through server: TestFeedServer,
        _ change: (inout Importer.Options) -> Void = { _ in }
    ) async throws -> ImportSummary {
        var options = Importer.Options.through(server)
        change(&options)
        return try await importFeed(FeedSource(source), options)
    }

    /// The revision time of each event in milliseconds, by code.
    func revised() async throws -> [String: Int] {
        let rows = try await query(
            "select code, (extract(epoch from updated) * 1000)::bigint as updated from quake")
        return try Dictionary(
            uniqueKeysWithValues: rows.map { try ($0.decode("code"), $0.decode("updated")) })
    }

    /// The cursor of the service in milliseconds; nil if there is none.
    func cursor() async throws -> Int? {
        try await query("select (extract(epoch from cursor) * 1000)::bigint as cursor from import.sweep")
            .first?
            .decodeIfPresent("cursor")
    }

    func reasons() async throws -> [String] {
        try await query(
            "select coalesce(reason, '') as reason from history.change where operation = 'delete' order by key"
        ).map { try $0.decode("reason") }
    }
}
