// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Measuring
import NIOCore
import RemoteSystems
import ValueSets

/// Carries out one attack until it is cancelled, as fast as its process may (``Worker/beginLimit()``).
struct Attacker: Sendable {
    /// The numbers of systems of the account (``PackedSystems``).
    enum Systems {
        /// It has the account's key, so that it renews certificates.
        static let victim = 0
        static let caller = 1
        static let member = 2
        static let revoked = 3
        static let firstNew = 10
    }

    private static let heldSilent = 256
    private static let heldHalf = 16
    private static let concurrent = 8
    private static let inFlight = 64
    private static let lines = 32

    let attack: AttackName
    let contestant: ContestantName
    let setup: Setup
    let client: AttackingClient

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
        case .requests: try await sendRequests(lines: Self.lines)
        case .descriptions: try await changeDescriptions()
        case .keyedRequests:
            // A bare server knows no keys.
            try await contestant == .ours ? sendKeyedRequests() : sendRequests(lines: 1)
        case .renewals:
            let identity = try AttackerIdentity(member, against: contestant, service: "remote-systems.presence")
            try await connect(identity, sending: AttackerIdentity.renewals(of: member, count: Self.inFlight))
        case .referrals: try await changePrograms()
        case .joiningPort: try await holdSilent()
        case .announcements, .formerTags: try await forge()
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
            try Task.checkCancellation()
            held.append(try await client.connect(nil))
            if held.count > Self.heldSilent { try? await held.removeFirst().close().get() }
        }
    }

    /// Opens connections until each is closed.
    private func connect(_ identity: AttackerIdentity, sending bytes: ByteBuffer = ByteBuffer()) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.concurrent {
                group.addTask {
                    while true {
                        try Task.checkCancellation()
                        let channel = try await client.connect(identity, sending: bytes)
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
            try Task.checkCancellation()
            held.append(try await client.connect(identity, sending: bytes))
            if held.count > Self.heldHalf { try? await held.removeFirst().close().get() }
        }
    }

    private func sendRequests(lines: Int) async throws {
        var setup = setup
        if contestant == .ours { setup.directory += "/system-\(Systems.member)" }
        let caller = try await bench.contestant(contestant).caller(setup)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<lines {
                let line = try await caller.open()
                group.addTask {
                    while true {
                        try Task.checkCancellation()
                        _ = try await line.exchange(.pipelined, until: Limit(count: 256, seconds: 5))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func sendKeyedRequests() async throws {
        var setup = setup
        setup.directory += "/system-\(Systems.member)"
        let connection = AppServiceConnection(
            to: AppServiceDescription(name: Ours.service, requestSchema: .full, responseSchema: .full)
        )
        let request = RemoteSystemConnectionRequest(
            host: "127.0.0.1",
            port: client.port,
            configuration: Ours.configuration(setup)
        )
        guard try await connection.open(request) == .success else {
            throw connection.openError ?? BenchError("The connection was not opened, and no reason was given.")
        }
        let message: ValueSet = ["IsEcho": true]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.inFlight {
                group.addTask {
                    while true {
                        try Task.checkCancellation()
                        _ = try await connection.send(message, idempotencyKey: IdempotencyKey())
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Runs a host whose attributes change all the time.
    private func changeDescriptions() async throws {
        let systems = PackedSystems(directory: setup.directory)
        let host = try await systems.startHost(Systems.member, folder: "\(setup.directory)/\(AttackedSystem.folder)")
        while true {
            try Task.checkCancellation()
            let attributes = (0..<200).map {
                ("\($0)", "\(UInt64.random(in: 0 ... .max))" + String(repeating: "x", count: 480))
            }
            try await host.update(attributes: Dictionary(uniqueKeysWithValues: attributes))
        }
    }
}
