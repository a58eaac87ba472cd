// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Measuring
import NIOCore
import RemoteSystems

/// Carries out one attack until it is cancelled, with at most a quarter of a core.
struct Attacker: Sendable {
    /// The numbers of systems of the account (``PackedSystems``).
    enum Systems {
        static let victim = 1
        static let caller = 2
        static let member = 3
        static let firstNew = 10
    }

    private static let heldSilent = 256
    private static let heldHalf = 16
    private static let concurrent = 8

    let attack: AttackName
    let contestant: ContestantName
    let setup: Setup
    let share = ProcessorShare()
    private let client: AttackingClient

    init(_ attack: AttackName, on contestant: ContestantName, port: Int, _ setup: Setup) {
        self.attack = attack
        self.contestant = contestant
        var setup = setup
        setup.address = "\(port)"
        self.setup = setup
        client = AttackingClient(port: port)
    }

    private var member: Credentials.Identity {
        get throws {
            guard contestant == .ours else { return setup.credentials.caller }
            return try AttackerIdentity.ofAccount(in: "\(setup.directory)/system-\(Systems.member)")
        }
    }

    func run() async throws {
        switch attack {
        case .silentConnections: try await holdSilent()
        case .handshakes: try await connect(AttackerIdentity(nil, against: contestant))
        case .foreignHellos: try await connect(AttackerIdentity(foreign(), against: contestant))
        case .halfMessages: try await holdHalf(AttackerIdentity(member, against: contestant))
        case .requests: try await sendRequests()
        case .descriptions: try await changeDescriptions()
        case .announcements: break
        }
    }

    /// A certificate of another account, or of another root.
    private func foreign() throws -> Credentials.Identity {
        guard contestant == .ours else { return try Credentials().caller }
        let state = "\(setup.directory)/foreign"
        let configuration = RemoteSystemsConfiguration(
            applicationID: Ours.service,
            network: .loopback,
            discovery: [],
            stateDirectory: state
        )
        _ = try RemoteSystemsAccount(configuration).identity()
        return try AttackerIdentity.ofAccount(in: state)
    }

    /// Holds connections that send nothing, and replaces the oldest.
    private func holdSilent() async throws {
        var held = CircularBuffer<any Channel>()
        defer { for channel in held { channel.close(promise: nil) } }
        while true {
            try await share.wait()
            held.append(try await client.connect(nil))
            if held.count > Self.heldSilent { try? await held.removeFirst().close().get() }
        }
    }

    /// Opens connections until each is closed.
    private func connect(_ identity: AttackerIdentity) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.concurrent {
                group.addTask {
                    while true {
                        try await share.wait()
                        let channel = try await client.connect(identity)
                        await client.end(of: channel)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Holds connections with most of a message, and replaces the oldest.
    private func holdHalf(_ identity: AttackerIdentity) async throws {
        let bytes = AttackerIdentity.halfMessage(against: contestant)
        var held = CircularBuffer<any Channel>()
        defer { for channel in held { channel.close(promise: nil) } }
        while true {
            try await share.wait()
            held.append(try await client.connect(identity, sending: bytes))
            if held.count > Self.heldHalf { try? await held.removeFirst().close().get() }
        }
    }

    private func sendRequests() async throws {
        var setup = setup
        if contestant == .ours { setup.directory += "/system-\(Systems.member)" }
        let caller = try await bench.contestant(contestant).caller(setup)
        let line = try await caller.open()
        while true {
            try await share.wait()
            _ = try await line.exchange(.pipelined, until: Limit(count: 256, seconds: 5))
        }
    }

    /// Runs a host whose attributes change all the time.
    private func changeDescriptions() async throws {
        let systems = PackedSystems(directory: setup.directory)
        let host = try await systems.startHost(Systems.member, folder: "\(setup.directory)/\(AttackedSystem.folder)")
        while true {
            try await share.wait()
            let attributes = (0..<200).map {
                ("\($0)", "\(UInt64.random(in: 0 ... .max))" + String(repeating: "x", count: 480))
            }
            try await host.update(attributes: Dictionary(uniqueKeysWithValues: attributes))
        }
    }
}
