// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import UserNotifications

/// The application's side of responses, and of notifications that come in quick succession.
@Suite struct ResponseHandlingTests {
    /// Lets closures wait.
    private final class Gate: Sendable {
        private let (opened, feed) = AsyncStream.makeStream(of: Void.self)
        private let count = Mutex(0)
        private let cancellations = Mutex(0)

        var waiting: Int { self.count.withLock { $0 } }
        var cancelled: Int { self.cancellations.withLock { $0 } }

        func wait() async {
            self.count.withLock { $0 += 1 }
            for await _ in self.opened { break }
            if Task.isCancelled { self.cancellations.withLock { $0 += 1 } }
        }

        func open() { self.feed.finish() }
    }

    @Test func `a response that comes again while it is handled is handled once, and not cancelled (N-50)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let gate = Gate()
            let center = UserNotificationCenter(
                presenter: StagedNotificationPresenter(),
                applicationName: "Calendar",
                configuration: stage.configuration,
                responseHandler: { _ in await gate.wait() }
            )
            let response = NotificationResponse(id: "1", requestIdentifier: "42", actionIdentifier: "accept")
            let first = Task { await center.handle(response) }
            try await stage.eventually("the handler runs") { gate.waiting == 1 }
            // The connection to the daemon has ended.
            first.cancel()
            let second = Task { await center.handle(response) }
            gate.open()
            #expect(await first.value)
            #expect(await second.value)
            #expect(await center.handle(response))
            #expect(gate.waiting == 1)
            #expect(gate.cancelled == 0)
        }
    }

    @Test func `without a daemon, what is answered leaves the screen at once, and other responses do not wait`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let gates = ["answered": Gate(), "dismissed": Gate(), "clicked": Gate()]
            let desktop = StagedNotificationPresenter()
            let center = UserNotificationCenter(
                presenter: desktop,
                applicationName: "Calendar",
                configuration: stage.configuration,
                responseHandler: { response in await gates[response.requestIdentifier]?.wait() }
            )
            let category = NotificationCategory(
                identifier: "c",
                actions: [NotificationAction(identifier: "yes", title: "Yes")],
                options: .customDismissAction
            )
            try await center.setNotificationCategories([category])
            for identifier in gates.keys {
                let content = NotificationContent(title: "Lunch", categoryIdentifier: "c")
                try await center.add(NotificationRequest(identifier: identifier, content: content))
            }
            desktop.choose("yes", on: "answered")
            desktop.end("dismissed")
            desktop.choose(on: "clicked")
            try await stage.eventually("the handler has all three") { gates.values.allSatisfy { $0.waiting == 1 } }
            try await stage.eventually("none is on the screen") { desktop.shown.isEmpty }
            for gate in gates.values { gate.open() }
        }
    }

    /// Counts the starts of applications.
    private final class Starts: Sendable {
        private let state = Mutex(0)
        var count: Int { self.state.withLock { $0 } }
        func add() { self.state.withLock { $0 += 1 } }
    }

    @Test func `an application that does not connect after its start is started again, three times in all (N-50)`()
        async throws
    {
        try await ReceivingSystem.with { receiving in
            // The host takes an application for running that is just ending.
            let starts = Starts()
            await receiving.receiver.setWake { _ in
                starts.add()
                return true
            }
            await receiving.receiver.respond(
                NotificationResponse(id: "1", requestIdentifier: "42", actionIdentifier: "accept"),
                to: NotificationSender(systemID: "me", application: "calendar", isLocal: true)
            )
            try await receiving.stage.eventually("it is started") { starts.count == 1 }
            try await receiving.stage.advance(by: NotificationReceiver.connectTime - .milliseconds(1))
            #expect(starts.count == 1)
            try await receiving.stage.advance(by: .milliseconds(1))
            try await receiving.stage.eventually("it is started again") { starts.count == 2 }
            try await receiving.stage.advance(by: NotificationReceiver.connectTime)
            try await receiving.stage.eventually("it is started once more") { starts.count == 3 }
            try await receiving.stage.advance(by: .seconds(60))
            #expect(starts.count == 3)
        }
    }

    @Test func `a notification about which the application still decides does not overtake its successor`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let (gate, desktop) = (Gate(), StagedNotificationPresenter())
            let center = UserNotificationCenter(
                presenter: desktop,
                applicationName: "Calendar",
                configuration: stage.configuration
            )
            await center.setWillPresent { request in
                if request.content.title == "old" { await gate.wait() }
                return .all
            }
            func request(_ title: String) -> NotificationRequest {
                NotificationRequest(identifier: "42", content: NotificationContent(title: title))
            }
            let first = Task { try await center.add(request("old")) }
            try await stage.eventually("the application decides") { gate.waiting == 1 }
            try await center.add(request("new"))
            gate.open()
            try await first.value
            #expect(desktop.history.map(\.content.title) == ["new"])
            #expect(try await center.deliveredNotifications.map(\.request.content.title) == ["new"])
        }
    }
}

extension NotificationReceiver {
    /// As if the user had responded to a notification of an application that does not run.
    fileprivate func respond(_ response: NotificationResponse, to sender: NotificationSender) {
        self.routing.add(response, to: sender, at: self.clock.date, link: nil)
        self.sendResponses()
    }
}
