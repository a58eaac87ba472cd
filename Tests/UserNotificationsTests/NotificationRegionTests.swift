// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserNotifications

/// Notifications that wait for a region.
@Suite struct NotificationRegionTests {
    /// The Alexanderplatz in Berlin.
    private static let (latitude, longitude) = (52.5219, 13.4132)

    private static func region(
        radius: Double = 200,
        onEntry: Bool = true,
        onExit: Bool = false
    ) -> NotificationRegion {
        NotificationRegion(
            latitude: Self.latitude,
            longitude: Self.longitude,
            radius: radius,
            notifiesOnEntry: onEntry,
            notifiesOnExit: onExit
        )
    }

    /// A location so many metres north of the centre.
    private static func metres(_ north: Double, accuracy: Double = 5) throws -> NotificationLocation {
        let latitude = Self.latitude + north / 111_195.08
        return try #require(
            NotificationLocation(latitude: latitude, longitude: Self.longitude, accuracy: accuracy)
        )
    }

    @Test func `the distance is that on the earth, also across the date line and at the poles (X-54)`() throws {
        func distance(_ one: (Double, Double), _ other: (Double, Double)) throws -> Double {
            let location = NotificationLocation(latitude: one.0, longitude: one.1, accuracy: 0)
            return try #require(location).distance(latitude: other.0, longitude: other.1)
        }
        // Berlin to Paris.
        #expect(abs(try distance((52.5200, 13.4050), (48.8566, 2.3522)) - 877_460) < 1000)
        #expect(abs(try distance((0, 179.9), (0, -179.9)) - 22_239) < 10)
        #expect(try distance((90, 0), (90, 123)) < 0.001)
        #expect(abs(try distance((90, 0), (-90, 0)) - 20_015_115) < 10)
        #expect(try distance((10, 20), (10, 20)) == 0)
    }

    @Test func `numbers that are no place are no location`() {
        for (latitude, longitude, accuracy) in [
            (91.0, 0.0, 1.0), (0, 181, 1), (.nan, 0, 1), (0, 0, -1), (0, 0, .infinity), (0, .infinity, 1),
        ] {
            #expect(NotificationLocation(latitude: latitude, longitude: longitude, accuracy: accuracy) == nil)
        }
    }

    @Test func `near the boundary the state stays, and an inaccurate location says nothing (X-54)`() throws {
        let region = Self.region()
        #expect(region.contains(try Self.metres(199), before: nil) == true)
        #expect(region.contains(try Self.metres(201), before: nil) == false)
        #expect(region.contains(try Self.metres(201), before: false) == false)
        #expect(region.contains(try Self.metres(219), before: true) == true)
        #expect(region.contains(try Self.metres(221), before: true) == false)
        #expect(region.contains(try Self.metres(221, accuracy: 50), before: true) == true)
        #expect(region.contains(try Self.metres(251, accuracy: 50), before: true) == false)
        for before in [true, false, nil] {
            #expect(region.contains(try Self.metres(400, accuracy: 201), before: before) == before)
        }
        // A small region is found with an accuracy of 100 m.
        #expect(Self.region(radius: 10).contains(try Self.metres(5, accuracy: 100), before: nil) == true)
    }

    @Test(arguments: [
        ("latitude", NotificationRegion(latitude: 90.1, longitude: 0, radius: 100)),
        ("longitude", NotificationRegion(latitude: 0, longitude: -180.1, radius: 100)),
        ("radius", NotificationRegion(latitude: 0, longitude: 0, radius: 9)),
        ("radius", NotificationRegion(latitude: 0, longitude: 0, radius: .nan)),
        ("radius", NotificationRegion(latitude: 0, longitude: 0, radius: 100_001)),
        ("notifiesOnEntry", NotificationRegion(latitude: 0, longitude: 0, radius: 100, notifiesOnEntry: false)),
    ])
    func `a region that is not valid is an error that names the field (X-54)`(field: String, region: NotificationRegion)
    {
        let error = #expect(throws: NotificationError.self) { try NotificationTrigger.location(region).validate() }
        #expect(error?.code == .triggerInvalid && error?.field == field)
    }

    @Test func `a region goes through a value set and JSON unchanged (X-54)`() throws {
        for region in [Self.region(), Self.region(onEntry: false, onExit: true), Self.region(onExit: true)] {
            for repeats in [false, true] {
                let trigger = NotificationTrigger.location(region, repeats: repeats)
                #expect(try NotificationTrigger(trigger.valueSet) == trigger)
                #expect(try NotificationTrigger(ValueSet(json: trigger.valueSet.json())) == trigger)
                #expect(trigger.nextTriggerDate() == nil)
            }
        }
        let whole = try NotificationTrigger(ValueSet(json: #"{"Region":{"Latitude":52,"Longitude":13,"Radius":100}}"#))
        #expect(whole == .location(NotificationRegion(latitude: 52, longitude: 13, radius: 100)))
        for json in [#"{"Region":7}"#, #"{"Region":{"Latitude":52,"Longitude":13}}"#] {
            let set = try ValueSet(json: json)
            #expect(throws: NotificationError.self) { try NotificationTrigger(set) }
        }
    }

    // MARK: Waiting

    private static let sender = NotificationSender(systemID: "s", application: "calendar")

    private static func add(
        _ identifier: String,
        _ region: NotificationRegion = region(),
        repeats: Bool = false,
        to pending: inout PendingNotifications,
        from sender: NotificationSender = sender
    ) throws {
        let trigger = NotificationTrigger.location(region, repeats: repeats)
        let request = NotificationRequest(
            identifier: identifier,
            content: NotificationContent(title: identifier),
            trigger: trigger
        )
        _ = try pending.add(RemoteNotification(request), trigger, from: sender, at: Date(timeIntervalSince1970: 1))
    }

    @Test func `a crossing is due once, or each time, and not the first location (N-02, X-54)`() throws {
        var pending = PendingNotifications()
        try Self.add("enter", to: &pending)
        try Self.add("leave", Self.region(onEntry: false, onExit: true), to: &pending)
        try Self.add("both", Self.region(onExit: true), repeats: true, to: &pending)
        #expect(pending.next == nil && pending.smallestRadius == 200)
        let date = Date(timeIntervalSince1970: 100)
        func due(_ metres: Double) throws -> Set<String> {
            _ = pending.located(try Self.metres(metres), at: date)
            var due: Set<String> = []
            while let next = pending.takeNextDue(at: date) { due.insert(next.entry.key.identifier) }
            return due
        }
        // The user is inside already.
        let first = pending.located(try Self.metres(0), at: date)
        #expect(first.count == 3 && pending.next == nil)
        let second = pending.located(try Self.metres(10), at: date)
        #expect(second.isEmpty)
        #expect(try due(500) == ["leave", "both"])
        #expect(try due(600) == [])
        #expect(try due(100) == ["enter", "both"])
        #expect(try due(500) == ["both"])
        #expect(pending.all.map(\.key.identifier) == ["both"])
        #expect(pending.takeNextDue(at: .distantFuture) == nil)
    }

    @Test func `what was crossed can be cancelled or replaced before it is delivered`() throws {
        var pending = PendingNotifications()
        for id in ["a", "b", "c"] { try Self.add(id, to: &pending) }
        let date = Date(timeIntervalSince1970: 100)
        for metres in [500.0, 0] { _ = pending.located(try Self.metres(metres), at: date) }
        #expect(pending.takeNextDue(at: date)?.entry.key.identifier == "a")
        pending.remove(PendingNotifications.Key(sender: Self.sender, identifier: "b"))
        try Self.add("c", to: &pending)
        #expect(pending.takeNextDue(at: date) == nil)
    }

    @Test func `an inaccurate location far away is outside`() throws {
        let region = Self.region()
        var location = try Self.metres(50_000)
        location.accuracy = 2_000
        #expect(region.contains(location, before: true) == false && region.contains(location, before: nil) == false)
        location.accuracy = 49_900
        #expect(region.contains(location, before: true) == true && region.contains(location, before: nil) == nil)
    }

    @Test func `one that is postponed is delivered, and a repeated one waits for the next crossing`() throws {
        var pending = PendingNotifications()
        try Self.add("both", Self.region(onExit: true), repeats: true, to: &pending)
        let date = Date(timeIntervalSince1970: 100)
        for metres in [500.0, 0] { _ = pending.located(try Self.metres(metres), at: date) }
        let next = pending.takeNextDue(at: date)
        let due = try #require(next)
        pending.postpone(due.entry, until: date)
        #expect(pending.next == date)
        // It is the same crossing.
        let same = pending.located(try Self.metres(0), at: date)
        #expect(same.isEmpty)
        #expect(pending.takeNextDue(at: date)?.next?.date == .distantFuture)
        #expect(pending.next == nil)
        #expect(pending.all.count == 1)
    }

    @Test func `at most 20 of an application wait for a region, and 64 in all (X-54, X-63)`() throws {
        var pending = PendingNotifications()
        for number in 1...20 { try Self.add("\(number)", to: &pending) }
        let error = #expect(throws: NotificationError.self) { try Self.add("21", to: &pending) }
        #expect(error?.code == .tooManyPending)
        // In the place of another one.
        try Self.add("20", to: &pending)
        for application in ["b", "c", "d"] {
            let sender = NotificationSender(systemID: "s", application: application)
            let room = min(20, 64 - pending.all.count)
            for number in 0..<room { try Self.add("\(number)", to: &pending, from: sender) }
        }
        let other = NotificationSender(systemID: "s", application: "e")
        #expect(throws: NotificationError.self) { try Self.add("1", to: &pending, from: other) }
        #expect(pending.all.count == 64)
    }

    @Test func `a store keeps the region, and where the user was (N-07, X-54)`() throws {
        var pending = PendingNotifications()
        try Self.add("enter", to: &pending)
        for location in [nil, try Self.metres(500)] {
            if let location { _ = pending.located(location, at: .now) }
            let entry = try #require(pending.all.first)
            #expect(try NotificationRecord(entry).pending() == entry)
        }
    }

    // MARK: The daemon

    /// Locations that the test reports.
    private final class Source: LocationSource {
        private struct State {
            var feeds: [AsyncThrowingStream<NotificationLocation, any Error>.Continuation] = []
            var last: NotificationLocation?
            var failure: (any Error)?
            var ended = 0
        }
        private let state = Mutex(State())

        /// How many measurements run.
        var running: Int { self.state.withLock { $0.feeds.count - $0.ended } }

        func move(_ location: NotificationLocation) {
            let feeds = self.state.withLock { state in
                state.last = location
                return state.feeds
            }
            for feed in feeds { feed.yield(location) }
        }

        func fail(_ error: (any Error)?) {
            let feeds = self.state.withLock { state in
                state.failure = error
                return state.feeds
            }
            if let error { for feed in feeds { feed.finish(throwing: error) } }
        }

        func locations(distance: Double) -> AsyncThrowingStream<NotificationLocation, any Error> {
            let (stream, feed) = AsyncThrowingStream.makeStream(of: NotificationLocation.self)
            feed.onTermination = { _ in self.state.withLock { $0.ended += 1 } }
            let (last, failure) = self.state.withLock { state in
                state.feeds.append(feed)
                return (state.last, state.failure)
            }
            if let failure { feed.finish(throwing: failure) } else if let last { feed.yield(last) }
            return stream
        }
    }

    private static func message(_ identifier: String, repeats: Bool = false) -> ValueSet {
        NotificationMessage.schedule(
            RemoteNotification(
                NotificationRequest(
                    identifier: identifier,
                    content: NotificationContent(title: identifier),
                    trigger: .location(Self.region(), repeats: repeats)
                )
            )
        )
    }

    @Test func `the daemon delivers on entry, and measures only while something waits (N-02, X-54)`() async throws {
        try await DiscoveryStage.with { stage in
            let source = Source()
            source.move(try Self.metres(1000))
            let daemon = try await StagedNotificationDaemon(stage, StepStore(), source)
            #expect(source.running == 0)
            _ = try await daemon.receiver.schedule(Self.message("book"), by: StagedNotificationDaemon.sender)
            try await stage.eventually("it measures") { source.running == 1 }
            #expect(daemon.screen.shown.isEmpty)
            source.move(try Self.metres(100))
            try await stage.eventually("it is shown") { daemon.screen.shown.map(\.content.title) == ["book"] }
            try await stage.eventually("it measures no longer") { source.running == 0 }
            // One that is cancelled needs no location either.
            _ = try await daemon.receiver.schedule(Self.message("two"), by: StagedNotificationDaemon.sender)
            try await stage.eventually("it measures") { source.running == 1 }
            #expect(try await daemon.receiver.cancel(["two"], of: StagedNotificationDaemon.sender) == 1)
            try await stage.eventually("it measures no longer") { source.running == 0 }
            daemon.crash()
        }
    }

    @Test func `a crossing while the daemon was off is noticed afterwards, once (N-07, X-54)`() async throws {
        try await DiscoveryStage.with { stage in
            let (source, store) = (Source(), StepStore())
            source.move(try Self.metres(1000))
            let first = try await StagedNotificationDaemon(stage, store, source)
            _ = try await first.receiver.schedule(Self.message("book"), by: StagedNotificationDaemon.sender)
            first.crash()
            source.move(try Self.metres(50))
            let second = try await StagedNotificationDaemon(stage, store, source)
            try await stage.eventually("it is shown") { second.screen.shown.map(\.content.title) == ["book"] }
            second.crash()
            #expect(try await store.load().allSatisfy { $0.kind != .pending })
        }
    }

    @Test func `where the location cannot be measured, adding is an error, and nothing waits (X-54)`() async throws {
        try await DiscoveryStage.with { stage in
            let source = Source()
            source.fail(CancellationError())
            for source in [source, nil] {
                let daemon = try await StagedNotificationDaemon(stage, StepStore(), source)
                let error = await #expect(throws: NotificationError.self) {
                    try await daemon.receiver.schedule(Self.message("book"), by: StagedNotificationDaemon.sender)
                }
                #expect(error?.code == .locationUnavailable)
                #expect(await daemon.receiver.pending.all.isEmpty)
                daemon.crash()
            }
            // One that says nothing.
            let saysNothing = Source()
            let silent = try await StagedNotificationDaemon(stage, StepStore(), saysNothing)
            let waiting = Task {
                try await silent.receiver.schedule(Self.message("book"), by: StagedNotificationDaemon.sender)
            }
            try await stage.eventually("it is asked") { saysNothing.running == 1 }
            try await stage.advance(by: .milliseconds(20_100))
            let error = await #expect(throws: NotificationError.self) { try await waiting.value }
            #expect(error?.code == .locationUnavailable)
            silent.crash()
            // An application alone has no source.
            let center = UserNotificationCenter(presenter: StagedNotificationPresenter(), applicationName: "Library")
            let request = NotificationRequest(
                identifier: "book",
                content: NotificationContent(title: "book"),
                trigger: .location(Self.region())
            )
            let alone = await #expect(throws: NotificationError.self) { try await center.add(request) }
            #expect(alone?.code == .locationUnavailable)
        }
    }

    @Test func `a source that fails later is tried again, and what waits stays (X-54)`() async throws {
        try await DiscoveryStage.with { stage in
            let source = Source()
            source.move(try Self.metres(1000))
            let daemon = try await StagedNotificationDaemon(stage, StepStore(), source)
            _ = try await daemon.receiver.schedule(Self.message("book"), by: StagedNotificationDaemon.sender)
            try await stage.eventually("it measures") { source.running == 1 }
            source.fail(CancellationError())
            try await stage.eventually("it has failed") { source.running == 0 }
            try await stage.advance(by: .milliseconds(1100))
            #expect(await daemon.receiver.pending.all.count == 1)
            source.fail(nil)
            source.move(try Self.metres(10))
            try await stage.advance(by: .milliseconds(2100))
            try await stage.eventually("it is shown") { daemon.screen.shown.count == 1 }
            daemon.crash()
        }
    }
}
