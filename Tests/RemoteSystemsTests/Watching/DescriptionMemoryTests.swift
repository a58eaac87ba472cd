// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import RemoteSystemsDiscovery
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// The memory that the descriptions of members take of a watcher, which has a process of its own (issue 10 §1.2).
@Suite(
    .enabled(if: ProcessInfo.processInfo.environment["ASAN_OPTIONS"] == nil, "a sanitizer takes memory of its own"),
    .timeLimit(.minutes(4))
)
struct DescriptionMemoryTests {
    private static let members = 128
    /// The length of each description, in bytes: nearly the maximum of a topic.
    private static let length = 900_000
    /// The limit for what the watcher's memory grows by in a debug build, in MiB. It is far below what the watcher held
    /// before descriptions had limits: three times their bytes.
    private static let maxGrowth = 190

    @Test func `members with long descriptions hold little memory of a watcher`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "descriptions-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = AccountStore(directory: directory)
        let own = try store.identity()
        let authority = try store.authority()
        var members: [HostileMember] = []
        for _ in 0..<Self.members {
            let key = P256.Signing.PrivateKey()
            let identity = try SystemIdentity(
                rootCertificate: authority.rootCertificate,
                certificate: authority.issueCertificate(for: key.publicKey, now: Date()),
                systemKey: key,
                discoveryKey: own.discoveryKey,
                isAuthority: false
            )
            members.append(try await HostileMember(as: identity, describedAs: members.first))
        }
        try members.first?.describe(name: "hostile", attributeBytes: Self.length)
        let ports = members.map(\.port)
        await #expect(processExitsWith: .success) { [directory = directory as String, ports = ports as [Int]] in
            try await watchMembers(at: ports, in: directory)
        }
        let file = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/outcome"))
        let outcome = try JSONDecoder().decode(WatcherOutcome.self, from: file)
        let growth = (outcome.most - outcome.before) >> 10
        print("MEASURED memory for long descriptions: \(growth) MiB, listed \(outcome.listed) (debug build)")
        #expect(outcome.connected >= Self.members)
        #expect(outcome.listed > 0)
        // Descriptions of this length may take half of the budget, less than one of them.
        #expect(outcome.held > 15 << 20)
        #expect(growth < Self.maxGrowth)
        for member in members { await member.stop() }
    }
}

/// What the watcher's process states.
private struct WatcherOutcome: Codable {
    var connected = 0
    /// The systems that it listed at most.
    var listed = 0
    /// The bytes of descriptions that it held at most.
    var held = 0
    /// The private resident memory before the start and at most afterwards, in KiB.
    var before = 0
    var most = 0
}

/// Watches these ports of loopback, and writes the outcome to the account's directory. Runs in a process of its own.
private func watchMembers(at ports: [Int], in directory: String) async throws {
    var configuration = RemoteSystemsConfiguration(
        applicationID: "test.watcher",
        network: .loopback,
        stateDirectory: directory
    )
    let peers = try ports.map { try StaticPeer(host: "127.0.0.1", port: $0) }
    configuration.discovery.sources = [try StaticPeers(peers, logger: configuration.logger)]
    configuration.transport.helloTimeout = .seconds(30)
    configuration.transport.connectTimeout = .seconds(30)
    let watcher = RemoteSystemWatcher(configuration)
    var outcome = WatcherOutcome()
    outcome.before = try residentMemory()
    try await watcher.start()
    func sample() async throws {
        outcome.most = max(outcome.most, try residentMemory())
        outcome.held = max(outcome.held, StateBudget.shared.bytes)
        outcome.listed = max(outcome.listed, watcher.systems.count)
        // Memory has no event that reports its growth.
        try await Task.sleep(for: .milliseconds(20))
    }
    let deadline = ContinuousClock.now + .seconds(120)
    func hasActed() -> Bool {
        watcher.statistics.connectionsOpened >= ports.count && outcome.held > 15 << 20 && outcome.listed > 0
    }
    while !hasActed(), ContinuousClock.now < deadline { try await sample() }
    // The limit has acted. It also holds while the last descriptions arrive.
    for _ in 0..<250 { try await sample() }
    outcome.connected = watcher.statistics.connectionsOpened
    await watcher.stop()
    try JSONEncoder().encode(outcome).write(to: URL(fileURLWithPath: "\(directory)/outcome"))
}

/// The private resident memory of this process, in KiB.
private func residentMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
    return try #require(Int(line?.filter(\.isNumber) ?? ""))
}
