// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import RemoteSystems

/// A thousand concurrent connections to one host, each with TLS. `Scripts/bench --only memory,ours --connections 10000`
/// opens ten times as many.
@Suite(.timeLimit(.minutes(3))) struct ManyConnectionsTests {
    private static let number = 1_000
    /// Both ends of each connection are in this process.
    private static let files = 2 * number + 500

    /// Raises the limit of open files as far as necessary, if allowed.
    private static func makeRoom() -> Bool {
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(kind, &limit) == 0 else { return false }
        if limit.rlim_cur < rlim_t(Self.files) {
            limit.rlim_cur = min(limit.rlim_max, rlim_t(2 * Self.files))
            guard unsafe setrlimit(kind, &limit) == 0 else { return false }
        }
        return limit.rlim_cur >= rlim_t(Self.files)
    }

    /// Runs `body` for each connection. The concurrency stays a little below the maximum of unauthenticated connections
    /// from one address.
    private static func each<Result: Sendable>(
        _ body: @escaping @Sendable (Int) async throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: Result.self) { group in
            var results: [Result] = []
            for number in 0..<Self.number {
                if number >= 16, let result = try await group.next() { results.append(result) }
                group.addTask { try await body(number) }
            }
            for try await result in group { results.append(result) }
            return results
        }
    }

    @Test(.enabled(if: makeRoom(), "The process may not open as many files as that takes (ulimit -Hn)."))
    func `a host serves a thousand concurrent connections and releases them all`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([Loopback.echo]) { host in
                _ = try await host.port
                let connections = try await Self.each { _ in
                    let (connection, status) = try await Loopback.connect(loopbackSystem, host)
                    #expect(status == .success, "\(connection.openError?.message ?? "")")
                    return connection
                }
                // A host counts a connection just after it has accepted it.
                try await until { host.openConnections == Self.number }
                // All connections exist now, long after the first was opened.
                let responses = try await Self.each { number in
                    try await connections[number].send(["n": .integer(Int64(number))]).get()["n"]?.int ?? -1
                }
                #expect(responses.sorted() == Array(0..<Self.number))
                _ = try await Self.each { await connections[$0].close() }
                try await until { host.openConnections == 0 }
                #expect(try await Loopback.connect(loopbackSystem, host).1 == .success)
            }
        }
    }
}
