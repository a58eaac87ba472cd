// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import RemoteSystems
import RemoteSystemsTesting
import Testing

@testable import UserActivities

/// Activities that are current, but may not be offered.
@Suite(.timeLimit(.minutes(2))) struct EligibilityTests {
    @Test func `an activity that is not eligible takes the place of the former one, and is not offered (H-19, X-06)`()
        async throws
    {
        try await ContinuationTests.Desk.with(ContinuationTests.Log()) { desk in
            let host = try await desk.laptop.activityHost()
            let (former, hidden) = (
                UserActivity(type: ContinuationTests.editing), UserActivity(type: ContinuationTests.editing)
            )
            _ = try await desk.offer(former)
            hidden.isEligibleForHandoff = false
            try await hidden.becomeCurrent(at: host)
            #expect(!former.isCurrent && hidden.isCurrent)
            try await desk.stage.eventually("no offer is left") { desk.watcher.offers.isEmpty }

            // The flag counts while the activity is current, too.
            hidden.isEligibleForHandoff = true
            try await desk.stage.eventually("it is listed") { desk.watcher.offers.map(\.id) == [hidden.id] }
            let offer = try #require(desk.watcher.offers.first)
            hidden.isEligibleForHandoff = false
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .activityUnknown)
            try await desk.stage.eventually("no offer is left") { desk.watcher.offers.isEmpty }
            #expect(hidden.isCurrent)

            hidden.resignCurrent()
            hidden.isEligibleForHandoff = true
            #expect(!hidden.isCurrent)
            try await former.becomeCurrent(at: host)
            try await desk.stage.eventually("the former is listed") { desk.watcher.offers.map(\.id) == [former.id] }
        }
    }

    @Test func `a continuation that has begun is refused once the activity is not eligible any more (X-06)`()
        async throws
    {
        final class Withdrawing: UserActivityDelegate {
            func userActivityWillSave(_ activity: UserActivity) async { activity.isEligibleForHandoff = false }
        }
        let log = ContinuationTests.Log()
        try await ContinuationTests.Desk.with(log) { desk in
            let (activity, delegate) = (UserActivity(type: ContinuationTests.editing), Withdrawing())
            activity.delegate = delegate
            activity.needsSave = true
            let offer = try await desk.offer(activity)
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .activityUnknown)
            #expect(log.activity == nil && activity.isCurrent)
            withExtendedLifetime(delegate) {}
        }
    }

    @Test func `an address that breaks a rule ends the offer of a current activity until it is corrected (H-89)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let (origin, log) = ActivityOrigin.logged(stage)
            origin.begin()
            let activity = UserActivity(type: ContinuationTests.editing)
            try await activity.becomeCurrent(publishedBy: origin)
            for (count, address) in ["ftp://example.com/", "https://me:secret@example.com/"].enumerated() {
                activity.webpageURL = URL(string: address)
                #expect(origin.topic.records.isEmpty && activity.isCurrent, "\(address)")
                let error = await #expect(throws: ContinuationError.self) {
                    try await origin.fetch(activity.id, over: ObjectIdentifier(activity), for: .staged(), nil)
                }
                #expect(error?.code == .activityUnknown)
                let warnings = log.entries.filter { "\($0.message)".contains("could not be published") }
                #expect(warnings.count == count + 1 && !"\(warnings)".contains("secret"))
                activity.webpageURL = URL(string: "https://example.com/")
                #expect(origin.topic.records.count == 1)
            }
            _ = try await origin.fetch(activity.id, over: ObjectIdentifier(activity), for: .staged(), nil)
            origin.end()
        }
    }

    /// What ends an offer while the application saves.
    enum End: CaseIterable, Sendable {
        case ineligible, invalidAddress, resigned, invalidated

        func apply(to activity: UserActivity) {
            switch self {
            case .ineligible: activity.isEligibleForHandoff = false
            case .invalidAddress: activity.webpageURL = URL(string: "ftp://example.com/")
            case .resigned: activity.resignCurrent()
            case .invalidated: activity.invalidate()
            }
        }
    }

    /// The delegate of an activity, which does something while the activity is saved.
    private final class Saving: UserActivityDelegate {
        private let action: @Sendable (UserActivity) -> Void

        init(_ action: @escaping @Sendable (UserActivity) -> Void) { self.action = action }

        func userActivityWillSave(_ activity: UserActivity) async { self.action(activity) }
    }

    @Test(arguments: End.allCases)
    func `the content of an activity whose offer ends while it is saved is not sent (X-06)`(end: End) async throws {
        try await DiscoveryStage.with { stage in
            let origin = ActivityOrigin(stage.configuration, UserActivityHost.Options())
            origin.begin()
            let activity = UserActivity(type: ContinuationTests.editing)
            let delegate = Saving { end.apply(to: $0) }
            activity.delegate = delegate
            activity.needsSave = true
            try await activity.becomeCurrent(publishedBy: origin)
            let error = await #expect(throws: ContinuationError.self) {
                try await origin.fetch(activity.id, over: ObjectIdentifier(activity), for: .staged(), nil)
            }
            #expect(error?.code == .activityUnknown)
            origin.end()
            withExtendedLifetime(delegate) {}
        }
    }

    @Test func `the content of an activity is not sent if sending is switched off while it is saved (X-14)`()
        async throws
    {
        let directory = FileManager.default.temporaryDirectory.appending(path: "eligibility-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let configuration = RemoteSystemsConfiguration(applicationID: "com.example.test", stateDirectory: directory)
        var options = UserActivityHost.Options()
        // This runs on the machine's clock.
        options.saveTimeout = .seconds(60)
        let origin = ActivityOrigin(configuration, options)
        origin.begin()
        let activity = UserActivity(type: ContinuationTests.editing)
        let delegate = Saving { _ in
            _ = try? HandOffSettings.change(configuration) { $0.everything.sending = false }
        }
        activity.delegate = delegate
        try await activity.becomeCurrent(publishedBy: origin)
        _ = try await origin.fetch(activity.id, over: ObjectIdentifier(activity), for: .staged(), nil)
        activity.needsSave = true
        let error = await #expect(throws: ContinuationError.self) {
            try await origin.fetch(activity.id, over: ObjectIdentifier(activity), for: .staged(), nil)
        }
        #expect(error?.code == .disabled)
        origin.end()
        withExtendedLifetime(delegate) {}
    }

    @Test(arguments: [nil, "ftp://example.com/"] as [String?])
    func `a former date does not end an activity that was not offered when it changed (X-04, X-06)`(address: String?)
        async throws
    {
        try await DiscoveryStage.with { stage in
            let origin = ActivityOrigin(stage.configuration, UserActivityHost.Options())
            origin.begin()
            let activity = UserActivity(type: ContinuationTests.editing)
            activity.expirationDate = Date() + 60
            try await activity.becomeCurrent(publishedBy: origin)
            #expect(origin.topic.records.count == 1)
            if let address {
                activity.webpageURL = URL(string: address)
            } else {
                activity.isEligibleForHandoff = false
            }
            activity.expirationDate = nil
            #expect(origin.topic.records.isEmpty)
            try await stage.advance(by: .seconds(61))
            #expect(activity.isCurrent)
            activity.webpageURL = nil
            activity.isEligibleForHandoff = true
            #expect(origin.topic.records.count == 1)
            origin.end()
        }
    }

    @Test func `an activity that is not offered ends at its date (X-04, X-06)`() async throws {
        try await DiscoveryStage.with { stage in
            let origin = ActivityOrigin(stage.configuration, UserActivityHost.Options())
            origin.begin()
            let activity = UserActivity(type: ContinuationTests.editing)
            activity.isEligibleForHandoff = false
            activity.expirationDate = Date() + 500
            try await activity.becomeCurrent(publishedBy: origin)
            try await stage.advance(by: .seconds(30))
            #expect(activity.isCurrent)
            try await stage.advance(by: .seconds(471))
            try await stage.eventually("it is not current any more") { !activity.isCurrent }
            #expect(origin.topic.records.isEmpty)
            origin.end()
        }
    }
}
