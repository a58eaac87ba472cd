// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserNotifications

/// One notification on several systems of a user.
@Suite struct SharedNotificationTests {
    private static func question(_ title: String = "Deploy?") -> RemoteNotification {
        RemoteNotification(
            NotificationRequest(
                identifier: "q",
                content: NotificationContent(title: title, categoryIdentifier: "c")
            ),
            category: NotificationCategory(
                identifier: "c",
                actions: [NotificationAction(identifier: "yes", title: "Deploy")]
            )
        )
    }

    private static func with(
        _ names: [String] = ["Kitchen", "Attic", "Office"],
        _ body: (DiscoveryStage, [StagedDesk]) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            var desks: [StagedDesk] = []
            for name in names { desks.append(try await StagedDesk.appearing(name, on: stage)) }
            try await body(stage, desks)
            for desk in desks { try desk.daemon.running.cancel() }
        }
    }

    private static func gone(_ desks: [StagedDesk], _ stage: DiscoveryStage) async throws {
        try await stage.eventually("it is gone everywhere") {
            for desk in desks {
                guard try desk.titles.isEmpty, try await desk.daemon.receiver.list().isEmpty else { return false }
            }
            return true
        }
    }

    @Test(
        "What is answered, dismissed, withdrawn or replaced here is gone there, also without its sender (X-40)",
        arguments: 0..<5
    )
    func goneThere(how: Int) async throws {
        try await Self.with { stage, desks in
            let question = Self.question()
            for desk in desks { #expect(try await desk.receive(question, stage).status == .shown) }
            switch how {
            case 0: try desks[1].choose("yes")
            case 1: try desks[1].dismiss()
            case 2:
                let sender = try await desks[1].connect(stage)
                try await sender.withdraw(["q"])
                await sender.close()
            case 3: try await desks[1].receive(Self.question("Deploy now?"), stage)
            default:
                let receiver = try desks[1].daemon.receiver
                let received = await receiver.list()
                let sender = try #require(received.first).sender
                _ = try await receiver.schedule(StagedNotificationDaemon.message("q", after: 1), by: sender)
                try await stage.clock.advance(by: .seconds(2))
            }
            try await Self.gone([desks[0], desks[2]], stage)
            let titles = try desks[1].titles
            #expect(titles == ([3: ["Deploy now?"], 4: ["q"]][how] ?? []))
            // Only the system on which the user has responded has a response.
            for (number, desk) in desks.enumerated() {
                let connection = try await desk.connect(stage)
                #expect(try await connection.resume().responseCount == (number == 1 && how == 0 ? 1 : 0))
                await connection.close()
            }
        }
    }

    @Test("A system that was away learns from another one what has ended, while the one where it ended is away (X-40)")
    func away() async throws {
        try await Self.with { stage, desks in
            let question = Self.question()
            for desk in desks { try await desk.receive(question, stage) }
            try await desks[2].leaves(stage)
            try desks[0].choose("yes")
            try await Self.gone([desks[0], desks[1]], stage)
            try await desks[0].leaves(stage)
            try await desks[2].returns(stage)
            try await Self.gone([desks[1], desks[2]], stage)
            // Nothing comes back with the first one.
            try await desks[0].returns(stage)
            try await stage.clock.advance(by: .seconds(5))
            try await Self.gone(desks, stage)
        }
    }

    @Test("What has ended is not shown by a system that receives it later (X-40)")
    func later() async throws {
        try await Self.with { stage, desks in
            let (question, other) = (Self.question(), Self.question("Other"))
            // The office knows what ends because it has something to show.
            var first = Self.question("First")
            first.request.identifier = "first"
            try await desks[2].receive(first, stage)
            for desk in desks[..<2] { try await desk.receive(question, stage) }
            try desks[0].dismiss()
            try await Self.gone(Array(desks[..<2]), stage)
            try await stage.eventually("the office has learnt it") {
                try await !desks[2].daemon.receiver.states.all.isEmpty
            }
            let delivery = try await desks[2].receive(question, stage)
            #expect(delivery == NotificationDelivery(.withheld, reason: "It has ended on one of the user's systems."))
            #expect(try await desks[2].receive(other, stage).status == .shown)
            #expect(try desks[2].titles == ["First", "Other"])
        }
    }

    @Test("A notification without a delivery id ends on each system by itself")
    func separate() async throws {
        try await Self.with(["Kitchen", "Attic"]) { stage, desks in
            var question = Self.question()
            question.deliveryID = nil
            for desk in desks { try await desk.receive(question, stage) }
            try desks[0].choose("yes")
            try await Self.gone([desks[0]], stage)
            try await stage.clock.advance(by: .seconds(5))
            #expect(try desks[1].titles == ["Deploy?"])
            #expect(try await desks[1].receive(question, stage).status == .shown)
        }
    }

    @Test(
        "A linked account, and other programs of the user's systems, end nothing, and hide nothing",
        arguments: [NotificationState.Status.activated, .waiting]
    )
    func others(status: NotificationState.Status) async throws {
        try await DiscoveryStage.with { stage in
            stage.link(granting: Grants(), receiving: Grants(topics: [NotificationState.topic]))
            let desk = try await StagedDesk.appearing("Kitchen", on: stage)
            let question = Self.question()
            try await desk.receive(question, stage)
            let delivery = try #require(await desk.daemon.receiver.list().first?.stateKey)
            var state = NotificationState(status: status, date: stage.clock.date)
            if status == .waiting {
                state.isRead = true
                state.snoozedUntil = Date(timeIntervalSince1970: stage.clock.date.timeIntervalSince1970.rounded() + 600)
            }
            let (key, record) = (delivery.record(state), state.valueSet)
            for (account, application) in [
                (StagedAccount.linked, RemoteSystemHost.machineApplicationID), (.own, "test.other"),
            ] {
                var forger = StagedApplication(application)
                forger.features = { _ in
                    let topic = ApplicationTopic(NotificationState.topic)
                    try? topic.put(key.text, record)
                    return [HostFeature(topics: [topic])]
                }
                try await stage.appears(
                    try stage.system("Forger \(application)", account: account, applications: [forger])
                )
            }
            let received = Mutex<Set<String>>([])
            let watcher = RemoteSystemWatcher(
                try desk.daemon.configuration,
                filters: [.authorizationKind(.linked)],
                topics: [NotificationState.topic]
            ) { change in
                let forged = change.records.filter { $0.value[key.text] != nil }.keys
                received.withLock { $0.formUnion(forged.map { "\($0) \(change.isSameAccount)" }) }
            }
            try await watcher.start()
            try await stage.eventually("the forged states have arrived") {
                received.withLock { $0 } == ["\(RemoteSystemHost.machineApplicationID) false", "test.other true"]
            }
            try await stage.clock.advance(by: .seconds(5))
            #expect(try desk.titles == ["Deploy?"])
            #expect(try await desk.daemon.receiver.list().map(\.isRead) == [false])
            await watcher.stop()
            try desk.daemon.running.cancel()
        }
    }
}
