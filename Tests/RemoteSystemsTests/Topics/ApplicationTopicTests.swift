// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystems

/// Topics that applications publish beside their description, on loopback connections in this process.
@Suite(.timeLimit(.minutes(2))) struct ApplicationTopicTests {
    /// The newest records of each system in a topic.
    private final class Received: Sendable {
        private let state = Mutex<[SystemID: [String: [String: ValueSet]]]>([:])

        private let log = Mutex<[TopicChange]>([])

        func take(_ change: TopicChange) {
            self.log.withLock { $0.append(change) }
            self.state.withLock { $0[change.system] = change.records }
        }

        /// All changes of all systems.
        var changes: [TopicChange] { self.log.withLock { $0 } }

        /// The records of the only system.
        var records: [String: [String: ValueSet]]? { self.state.withLock { $0.count == 1 ? $0.values.first : nil } }
    }

    private static let topic = "test.weather"

    private func host(_ system: LoopbackSystem, _ application: String, _ topics: [ApplicationTopic]) -> RemoteSystemHost
    {
        var options = RemoteSystemHost.Options()
        options.features = [HostFeature(topics: topics)]
        return RemoteSystemHost(system.configuration(application), services: [], options: options)
    }

    private func watcher(
        _ system: LoopbackSystem,
        _ received: Received,
        filters: [RemoteSystemFilter] = []
    ) -> RemoteSystemWatcher {
        RemoteSystemWatcher(
            system.configuration("test.watcher"),
            filters: filters,
            topics: [Self.topic]
        ) { received.take($0) }
    }

    @Test func `a watcher receives the records of an application, each change, and their end`() async throws {
        try await LoopbackSystem.with { system in
            let topic = ApplicationTopic(Self.topic)
            try topic.put("today", ["degrees": 20])
            let received = Received()
            let watcher = self.watcher(system, received)
            try await watcher.start()
            try await self.host(system, "test.station", [topic]).whileRunning {
                try await until { received.records == ["test.station": ["today": ["degrees": 20]]] }
                try topic.put("tomorrow", ["degrees": 22])
                topic.remove("today")
                try await until { received.records == ["test.station": ["tomorrow": ["degrees": 22]]] }
            }
            try await until { received.records == [:] }
            await watcher.stop()
        }
    }

    @Test func `a system's records are complete when each of its programs has sent its own, if it has any`()
        async throws
    {
        try await LoopbackSystem.with { system in
            let topics = ["test.one": ApplicationTopic(Self.topic), "test.two": ApplicationTopic(Self.topic)]
            let received = Received()
            let watcher = self.watcher(system, received)
            try await watcher.start()
            try await self.host(system, "test.none", [ApplicationTopic(Self.topic)]).whileRunning {
                try await until { received.changes.last.map { $0.isComplete && $0.records.isEmpty } == true }
                // A watcher that starts later learns at once that there is nothing to wait for.
                let later = Received()
                let second = self.watcher(system, later)
                try await second.start()
                try await until { later.changes.last.map { $0.isComplete && $0.records.isEmpty } == true }
                await second.stop()
                var hosts: [RemoteSystemHost] = []
                for (application, topic) in topics {
                    try topic.put("a", ["n": 1])
                    hosts.append(self.host(system, application, [topic]))
                }
                try await hosts[0].whileRunning {
                    try await hosts[1].whileRunning {
                        try await until { received.records?.count == 2 && received.changes.last?.isComplete == true }
                    }
                }
                // Before the records of each program came, they were awaited.
                for count in 1...2 {
                    let arrival = try #require(received.changes.firstIndex { $0.records.count == count })
                    #expect(!received.changes[arrival - 1].isComplete)
                }
            }
            await watcher.stop()
        }
    }

    @Test func `the host daemon publishes the records of registered programs, and drops those of one that ends`()
        async throws
    {
        try await LoopbackSystem.with { system in
            let (one, two) = (ApplicationTopic(Self.topic), ApplicationTopic(Self.topic))
            try one.put("a", ["n": 1])
            try two.put("a", ["n": 2])
            let received = Received()
            let watcher = self.watcher(system, received)
            try await watcher.start()
            try await LocalRegistryTests().withDaemon(system) { daemon in
                try await self.host(system, "test.one", [one]).whileRunning {
                    try await self.host(system, "test.two", [two]).whileRunning {
                        try await until {
                            received.records == ["test.one": ["a": ["n": 1]], "test.two": ["a": ["n": 2]]]
                        }
                        // The records come over the daemon's connection, the only one.
                        try await until { system.segment.advertised == 1 && daemon.openConnections == 1 }
                        try two.put("a", ["n": 3])
                        try await until { received.records?["test.two"] == ["a": ["n": 3]] }
                    }
                    try await until { received.records == ["test.one": ["a": ["n": 1]]] }
                }
                try await until { received.records == [:] }
            }
            await watcher.stop()
        }
    }

    @Test func `the records of a process that is gone end at once, also while discovery still finds it`() async throws {
        try await LoopbackSystem.with { system in
            let (staying, ending) = (ApplicationTopic(Self.topic), ApplicationTopic(Self.topic))
            try staying.put("a", ["n": 1])
            try ending.put("a", ["n": 2])
            let received = Received()
            let watcher = self.watcher(system, received)
            try await watcher.start()
            // Its advertisement outlives it, as that of a process that was killed.
            let elsewhere = LoopbackSystem(directory: system.directory)
            try await self.host(system, "test.staying", [staying]).whileRunning {
                try await self.host(elsewhere, "test.ending", [ending]).whileRunning {
                    try await until { elsewhere.segment.advertised == 1 }
                    for hint in elsewhere.segment.hints { system.segment.appear(hint) }
                    try await until { received.records?.count == 2 }
                }
                try await until { received.records == ["test.staying": ["a": ["n": 1]]] }
                #expect(system.segment.advertised == 2)
            }
            await watcher.stop()
        }
    }

    @Test func `a program's records stay while its host daemon ends, whose advertisement is still found`() async throws
    {
        try await LoopbackSystem.with { system in
            let topic = ApplicationTopic(Self.topic)
            try topic.put("a", ["n": 1])
            let records = ["test.one": ["a": ["n": 1] as ValueSet]]
            let received = Received()
            let watcher = self.watcher(system, received)
            try await watcher.start()
            let elsewhere = LoopbackSystem(directory: system.directory)
            let program = self.host(system, "test.one", [topic])
            try await program.whileRunning {
                var before = 0
                try await LocalRegistryTests().withDaemon(elsewhere) { _ in
                    try await until { elsewhere.segment.advertised == 1 }
                    for hint in elsewhere.segment.hints { system.segment.appear(hint) }
                    // The records come over the daemon's connection, the only one.
                    try await until { system.segment.advertised == 1 && program.openConnections == 0 }
                    try await until { received.records == records && received.changes.last?.isComplete == true }
                    before = received.changes.count
                }
                try await until { program.openConnections == 1 && received.changes.count > before }
                #expect(received.changes.dropFirst(before).allSatisfy { $0.records == records })
            }
            try await until { received.records == [:] }
            await watcher.stop()
        }
    }

    @Test func `a watcher that starts later receives the present records, and one that follows nothing receives none`()
        async throws
    {
        try await LoopbackSystem.with { system in
            let topic = ApplicationTopic(Self.topic)
            try topic.put("today", ["degrees": 20])
            let other = system.watcher()
            try await other.start()
            try await self.host(system, "test.station", [topic]).whileRunning {
                try await until { other.systems.count == 1 }
                let received = Received()
                let watcher = self.watcher(system, received)
                try await watcher.start()
                try await until { received.records == ["test.station": ["today": ["degrees": 20]]] }
                await watcher.stop()
                // Followed again by another watcher of the same browser.
                for _ in 1...10 {
                    let again = Received()
                    let second = self.watcher(system, again)
                    try await second.start()
                    try await until {
                        again.records == ["test.station": ["today": ["degrees": 20]]]
                            && again.changes.last?.isComplete == true
                    }
                    // What was forgotten when the last watcher had stopped has not arrived yet.
                    #expect(!again.changes.contains { $0.isComplete && $0.records.isEmpty })
                    await second.stop()
                }
            }
            await other.stop()
        }
    }

    @Test(arguments: [true, false])
    func `a linked account receives a topic only if it is granted`(isGranted: Bool) async throws {
        let grants = Grants(services: ["test.granted"], topics: isGranted ? [Self.topic] : [])
        try await LinkedAccounts.with(granting: grants) { accounts in
            let topic = ApplicationTopic(Self.topic)
            try topic.put("today", ["degrees": 20])
            let received = Received()
            let watcher = self.watcher(accounts.friends, received, filters: [.authorizationKind(.linked)])
            try await watcher.start()
            try await self.host(accounts.ours, "test.station", [topic]).whileRunning {
                if isGranted {
                    try await until { received.records == ["test.station": ["today": ["degrees": 20]]] }
                    let account = try accounts.ourID
                    #expect(received.changes.first { !$0.records.isEmpty }?.linkedAccount == account)
                } else {
                    // The description arrives last, and lists no topic: nothing was or will be subscribed to.
                    try await until { watcher.systems.count == 1 }
                    #expect(received.records == nil)
                }
                await watcher.stop()
            }
        }
    }

    @Test func `too many, too large and misnamed records are refused, and leave the others`() throws {
        let topic = ApplicationTopic(Self.topic)
        try topic.put("kept", ["n": 1])
        for key in ["", "a/b", String(repeating: "k", count: 257)] {
            #expect(throws: RemoteSystemError.self) { try topic.put(key, [:]) }
        }
        #expect(throws: RemoteSystemError.self) {
            try topic.put("large", ["bytes": .data(Data(repeating: 1, count: 16 << 10))])
        }
        let filler: ValueSet = ["bytes": .data(Data(repeating: 1, count: 16_000))]
        let error = #expect(throws: RemoteSystemError.self) {
            for number in 0... { try topic.put("filler-\(number)", filler) }
        }
        #expect(error?.code == .localResources)
        #expect(topic.records["kept"] == ["n": 1])
        // Replacing needs no further room.
        try topic.put("filler-0", filler)
    }

    @Test func `a host refuses topics with the same name, with a malformed name, and too many`() async throws {
        try await LoopbackSystem.with { system in
            let lists = [
                ["a", "a"], ["A"], [""], (0...ApplicationTopic.maxTopics).map { "topic-\($0)" },
            ]
            for names in lists {
                let host = self.host(system, "test.station", names.map { ApplicationTopic($0) })
                let error = await #expect(throws: RemoteSystemError.self) { try await host.run() }
                #expect(error?.code == .misuse)
            }
        }
    }

    @Test func `records under the id of another application are ignored`() {
        let own = ApplicationRecordKey(application: "test/one", key: "a")
        let other = ApplicationRecordKey(application: "test/two", key: "a")
        #expect(ApplicationRecordKey(own.stateKey) == own)
        #expect(
            ApplicationRecordKey.records(
                of: "test/one",
                in: [own.stateKey: ["n": 1], other.stateKey: ["n": 2], "application/": [:], "else": [:]]
            ) == ["a": ["n": 1]]
        )
    }
}
