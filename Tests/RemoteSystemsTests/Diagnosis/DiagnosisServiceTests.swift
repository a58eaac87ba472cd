// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import RemoteSystemsTransport
import Testing
import ValueSets

@testable import RemoteSystems

/// What a host does for another system of its account that diagnoses why the two do not find each other.
@Suite struct DiagnosisServiceTests {
    static func request(_ port: Int, _ configuration: RemoteSystemsConfiguration) -> RemoteSystemConnectionRequest {
        RemoteSystemConnectionRequest(host: "127.0.0.1", port: port, configuration: configuration)
    }

    /// Machines of one account. The first runs a host.
    static func withPeer(
        and others: [String] = ["second"],
        _ body: (TwoMachines, Int) async throws -> Void
    ) async throws {
        try await TwoMachines.with { machines in
            for other in others { try await machines.join(other) }
            let host = RemoteSystemHost(machines.configuration("first", application: "test.host"), services: [])
            try await host.whileRunning {
                let port = try await host.port
                // The host advertises just after it listens, and only then knows the name of its advertisement.
                try await until { !host.advertised.all.isEmpty }
                try await body(machines, port)
            }
        }
    }

    /// Opens a connection to the service.
    private static func connect(_ port: Int, _ configuration: RemoteSystemsConfiguration) async throws -> Connection {
        let local = ApplicationContext(configuration)
        let connector = try await local.connector()
        return try await connector.connect(
            to: [Endpoint(host: "127.0.0.1", port: port)],
            expecting: nil,
            hello: local.hello(service: Diagnosis.service, targetApplication: nil, limits: connector.limits)
        ) { _, _ in Response() }
    }

    /// Sends requests to the service directly.
    static func ask(
        _ port: Int,
        _ configuration: RemoteSystemsConfiguration,
        _ body: (Connection) async throws -> Void
    ) async throws {
        let connection = try await Self.connect(port, configuration)
        try await body(connection)
        connection.abort(.completed)
    }

    @Test func `two systems that see and reach each other report no problem`() async throws {
        try await Self.withPeer { machines, port in
            let configuration = machines.configuration("second", application: "test.doctor")
            let findings = await RemoteSystemsDiagnosis(configuration).run(with: Self.request(port, configuration))
            #expect(findings.map(\.code) == [.peer, .peerVersion, .peerClock, .peerConnectsBack, .peerMulticast])
            #expect(findings.map(\.status) == [.ok, .ok, .ok, .ok, .ok], "\(findings)")
        }
    }

    @Test func `a system whose advertisements are lost is reached but not seen`() async throws {
        try await Self.withPeer { machines, port in
            var configuration = machines.configuration("second", application: "test.doctor")
            configuration.discovery.sources = [ScriptedDiscovery()]
            let findings = await RemoteSystemsDiagnosis(configuration).run(with: Self.request(port, configuration))
            #expect(findings.first { $0.code == .peerConnectsBack }?.status == .ok)
            let multicast = try #require(findings.first { $0.code == .peerMulticast })
            #expect(multicast.status == .problem && multicast.what.contains("Neither"))
        }
    }

    @Test func `a port that another system uses here is reported as such, and not as address translation`()
        async throws
    {
        try await Self.withPeer { machines, port in
            let configuration = machines.configuration("second", application: "test.doctor")
            // On this machine the first system has the port.
            let findings = await RemoteSystemsDiagnosis(configuration, port: port)
                .run(with: Self.request(port, configuration))
            let back = try #require(findings.first { $0.code == .peerConnectsBack })
            #expect(back.status == .warning && back.what.contains("another program"))
            #expect(back.advice?.contains("NAT") == false)
        }
    }

    @Test func `a system of another account is not contacted, and no account is created for that`() async throws {
        try await Self.withPeer { machines, port in
            let configuration = machines.configuration("third", application: "test.doctor")
            let diagnosis = RemoteSystemsDiagnosis(configuration)
            let none = await diagnosis.run(with: Self.request(port, configuration))
            #expect(none.map(\.code) == [.peer] && none.first?.advice?.contains("join") == true)
            #expect(!FileManager.default.fileExists(atPath: configuration.stateDirectory ?? ""))
            _ = try machines.account("third").identity()
            let other = await diagnosis.run(with: Self.request(port, configuration))
            #expect(other.map(\.code) == [.peer] && other.first?.status == .problem)
        }
    }

    /// A peer moved Quick Share to a network of its choice (CVE-2024-38271). Here a peer chooses no address.
    @Test func `the service connects back once a second at most, and reports only the outcome (CVE-2024-38271)`()
        async throws
    {
        try await Self.withPeer { machines, port in
            let configuration = machines.configuration("second", application: "test.doctor")
            // The listener at this port is not the caller but the other machine itself.
            try await Self.ask(port, configuration) { connection in
                let first = try await connection.send(
                    // The host and address of a victim have no meaning.
                    ["Type": "connect", "Port": .integer(Int64(port)), "Host": "192.0.2.1", "Address": "192.0.2.1"],
                    timeout: .seconds(10)
                )
                #expect(first.message == ["Outcome": "other"])
                var again = first
                // The first of these arrives within the second, unless the machine is suspended for as long.
                for _ in 0..<5 where again.status == .success {
                    again = try await connection.send(
                        ["Type": "connect", "Port": .integer(Int64(port))],
                        timeout: .seconds(10)
                    )
                }
                #expect(again.status == .failure && again.failure?.canRetry == true)
            }
        }
    }

    /// Sends more requests at once than the host accepts of all systems together, over several connections of one
    /// system, and runs a body when all but the system's share have been refused.
    ///
    /// - Returns: whether the others were refused, and those of the share in progress until the end of the body.
    private static func flood(
        _ connections: [Connection],
        _ message: ValueSet,
        share: Int,
        _ body: () async throws -> Void
    ) async throws -> Bool {
        try await withThrowingTaskGroup(of: Response.self) { group in
            let count = connections.count * Self.requestsEach
            for number in 0..<count {
                let connection = connections[number % connections.count]
                group.addTask { try await connection.send(message, timeout: .seconds(20)) }
            }
            var isBusy = true
            for _ in share..<count {
                let next = try await group.next()
                let ended = try #require(next)
                isBusy = isBusy && ended.status == .failure && ended.failure?.canRetry == true
            }
            if isBusy { try await body() }
            group.cancelAll()
            // A request that is cancelled in progress throws. One that has ended has its response.
            while !group.isEmpty {
                let response = try? await group.next()
                isBusy = isBusy && response == nil
            }
            return isBusy
        }
    }

    /// As many as the host accepts at once on a connection.
    private static let requestsEach = 4
    /// Together they send more requests than the host accepts of all systems at the same time.
    private static let hostileConnections =
        max(DiagnosisService.maxConnections, DiagnosisService.maxLookups) / requestsEach + 1

    @Test func `a system that keeps the service busy takes no place of another one`() async throws {
        let stranger = try await Stranger.start(.silent)
        // On a slow machine, the requests of the first system may end too early. The next two then try it.
        let pairs = [("second", "third"), ("fourth", "fifth"), ("sixth", "seventh")]
        try await Self.withPeer(and: pairs.flatMap { [$0.0, $0.1] }) { machines, port in
            /// Floods with requests of one system, and lets another one make its own.
            func attempt(
                _ pair: (String, String),
                _ message: ValueSet,
                share: Int,
                _ request: ValueSet,
                _ expected: ValueSet
            ) async throws -> Bool {
                var hostile: [Connection] = []
                for _ in 0..<Self.hostileConnections {
                    hostile.append(try await Self.connect(port, machines.configuration(pair.0)))
                }
                let honest = try await Self.connect(port, machines.configuration(pair.1))
                let isBusy = try await Self.flood(hostile, message, share: share) {
                    let response = try await honest.send(request, timeout: .seconds(20))
                    #expect(response.message == expected)
                }
                for connection in hostile + [honest] { connection.abort(.completed) }
                return isBusy
            }
            let silent: ValueSet = ["Type": "connect", "Port": .integer(Int64(stranger.port))]
            let back: ValueSet = ["Type": "connect", "Port": .integer(Int64(port))]
            var isTested = false
            for pair in pairs where !isTested {
                isTested = try await attempt(pair, silent, share: 1, back, ["Outcome": "other"])
            }
            #expect(isTested)

            let connection = try await Self.connect(port, machines.configuration("third"))
            let state = try await connection.send(["Type": "state"], timeout: .seconds(20)).message
            connection.abort(.completed)
            let advertised = try #require(state["Advertised"]?.array?.first?.string)
            let (absent, look): (ValueSet, ValueSet) = (
                ["Type": "look", "Instance": "absent"], ["Type": "look", "Instance": .string(advertised)]
            )
            let share = DiagnosisService.maxLookupsOfSystem
            isTested = false
            for pair in pairs where !isTested {
                isTested = try await attempt(pair, absent, share: share, look, ["Seen": true])
            }
            #expect(isTested)
        }
        await stranger.stop()
    }

    @Test(
        arguments: [
            ["Type": "connect"], ["Type": "connect", "Port": 0], ["Type": "connect", "Port": 65_536],
            ["Type": "connect", "Port": "22"], ["Type": "look"], ["Type": "look", "Instance": ""],
            ["Type": "look", "Instance": .string(String(repeating: "a", count: 64))], ["Type": "scan"], [:],
        ] as [ValueSet]
    )
    func `an invalid request is refused`(message: ValueSet) async throws {
        try await Self.withPeer { machines, port in
            try await Self.ask(port, machines.configuration("second")) { connection in
                let response = try await connection.send(message, timeout: .seconds(10))
                #expect(response.status == .failure && response.failure?.canRetry == false)
            }
        }
    }

    @Test func `the service reports the name of its advertisement, and whether it sees another`() async throws {
        try await Self.withPeer { machines, port in
            try await Self.ask(port, machines.configuration("second")) { connection in
                let state = try await connection.send(["Type": "state"], timeout: .seconds(10)).message
                #expect(state["Version"]?.string == SoftwareVersion.current)
                #expect(state["Address"]?.string?.hasSuffix("127.0.0.1") == true)
                let time = try #require(state["Time"]?.date)
                #expect(abs(time.timeIntervalSinceNow) < 30)
                let advertised = try #require(state["Advertised"]?.array?.first?.string)
                let seen = try await connection.send(
                    ["Type": "look", "Instance": .string(advertised)],
                    timeout: .seconds(10)
                )
                #expect(seen.message == ["Seen": true])
            }
        }
    }
}
