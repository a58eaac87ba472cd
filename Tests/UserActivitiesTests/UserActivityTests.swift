// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserActivities

/// What applications and their users see of activities.
@Suite(.timeLimit(.minutes(2))) struct UserActivityTests {
    /// An editor that shows a text with a caret.
    private final class Editor: ActivityRestoring {
        struct Draft: Equatable, Sendable {
            var text: String?
            var caret: Int?
        }

        let draft = Mutex(Draft())

        func restoreUserActivityState(_ activity: UserActivity) async {
            let info = activity.userInfo
            self.draft.withLock { $0 = Draft(text: info["Text"]?.string, caret: info["Caret"]?.int) }
        }
    }

    /// Continues an activity in the editor, and offers it in turn.
    private struct Adopting: ContinuationHandler {
        let editor: Editor
        let host: @Sendable () async throws -> UserActivityHost

        func continueUserActivity(
            _ activity: UserActivity,
            restore: @escaping @Sendable ([any ActivityRestoring]) async -> Void
        ) async throws -> Bool {
            await restore([self.editor])
            try await activity.adopt(at: try await self.host())
            return true
        }
    }

    @Test
    func `a draft goes on with the same text and caret, and can be handed on (H-04, H-15, H-21, H-24, H-59, H-69)`()
        async throws
    {
        let editor = Editor()
        let desktop = Mutex<StagedSystem?>(nil)
        let handler = Adopting(editor: editor) {
            try await #require(desktop.withLock { $0 }).activityHost()
        }
        try await ContinuationTests.Desk.with(handler) { desk in
            desktop.withLock { $0 = desk.desktop }
            // The system has the handler, which would keep it.
            defer { desktop.withLock { $0 = nil } }
            let activity = UserActivity(
                type: ContinuationTests.editing,
                title: "A letter",
                supportsContinuationStreams: true
            )
            activity.userInfo = ["Text": "Dear Ada, I", "Caret": 11]
            try await desk.continue(try await desk.offer(activity))
            #expect(editor.draft.withLock { $0 } == Editor.Draft(text: "Dear Ada, I", caret: 11))
            try await desk.stage.eventually("the desktop offers it") {
                desk.watcher.offers.map(\.system.displayName) == ["Desktop"]
            }
            let offer = try #require(desk.watcher.offers.first)
            #expect(offer.title == "A letter" && offer.activityType == ContinuationTests.editing)
            // The streams of the laptop do not pass on.
            #expect(!offer.supportsContinuationStreams)
        }
    }

    /// Also H-17, H-18 and H-51: an activity is an object with a beginning and an end. Also B-02: the application
    /// declares none of the types that it offers.
    @Test
    func `an application has any number of activities of any kinds, made when needed (H-20, H-25, H-26, H-30, H-31)`()
        async throws
    {
        try await ContinuationTests.Desk.with(RestoringHandler(objects: [])) { desk in
            let host = try await desk.laptop.activityHost()
            let activities = (0..<50).map { UserActivity(type: "com.example.tab.\($0)", title: "Tab \($0)") }
            for activity in activities { try await activity.becomeCurrent(at: host) }
            #expect(activities.map(\.isCurrent) == Array(repeating: false, count: 49) + [true])
            try await desk.stage.eventually("the last one is listed") {
                desk.watcher.offers.map(\.title) == ["Tab 49"] && desk.watcher.offers[0].activityType.hasSuffix(".49")
            }
            try await activities[0].becomeCurrent(at: host)
            activities[0].title = "Tab 0, page 2"
            try await desk.stage.eventually("the new title is listed") {
                desk.watcher.offers.map(\.title) == ["Tab 0, page 2"]
            }
            activities[0].invalidate()
            try await desk.stage.eventually("nothing is listed") { desk.watcher.offers.isEmpty }
            let error = await #expect(throws: RemoteSystemError.self) {
                try await activities[0].becomeCurrent(at: host)
            }
            #expect(error?.code == .misuse)
        }
    }

    @Test func `what is published says nothing of the content (H-10, X-02)`() throws {
        let activity = UserActivity(type: ContinuationTests.editing, title: "A letter")
        activity.userInfo = ["Secret": "content"]
        activity.webpageURL = URL(string: "https://example.com/secret")
        activity.referrerURL = URL(string: "https://example.com/secret/list")
        activity.keywords = ["secret"]
        activity.requiredUserInfoKeys = ["Secret"]
        activity.persistentIdentifier = "secret-17"
        activity.targetContentIdentifier = "window-2"
        activity.payloadVersion = 3
        activity.supportsContinuationStreams = true
        let record = ActivityDescriptor(activity, expirationDate: .now, lifetime: .seconds(600)).record
        #expect(
            Set(record.map(\.key)) == [
                "Type", "Title", "Expires", "Lifetime", "Webpage", "Streams", "Version", "Target",
            ]
        )
        #expect(record["Webpage"] == true && record["Target"] == "window-2")
        let bytes = try record.encoded()
        let text = String(decoding: bytes, as: UTF8.self).lowercased()
        #expect(text.contains("a letter") && !text.contains("secret"))
        // One that is too long for an offer is in the content only.
        activity.targetContentIdentifier = String(repeating: "w", count: ActivityDescriptor.maxIdentifierBytes + 1)
        let short = ActivityDescriptor(activity, expirationDate: .now, lifetime: .seconds(600)).record
        #expect(short["Target"] == nil)
    }

    @Test func `all properties arrive, and unknown ones are ignored (H-62, X-07, X-13)`() throws {
        let activity = UserActivity(type: ContinuationTests.editing, title: "A letter")
        activity.userInfo = ["Caret": 1]
        activity.webpageURL = URL(string: "https://example.com/letter")
        activity.referrerURL = URL(string: "https://example.com/list")
        activity.keywords = ["letter", "Ada"]
        activity.targetContentIdentifier = "window-2"
        activity.persistentIdentifier = "letter-17"
        activity.payloadVersion = 3
        activity.requiredUserInfoKeys = ["Caret"]
        var message = try ActivityPayload(activity, isStale: false).message
        message["Later"] = ["Version": 2]
        let payload = try ActivityPayload(message, offeredAs: ContinuationTests.editing)
        #expect(payload == (try ActivityPayload(activity, isStale: false)))
        #expect(payload.attributes.targetContentIdentifier == "window-2" && payload.attributes.payloadVersion == 3)
    }

    @Test func `the target picks the window that shows it, after a continuation too (X-13)`() async throws {
        let windows = [("front", Set(["letter-1"])), ("middle", ["letter-2", "letter-3"]), ("back", ["letter-3"])]
        let chosen = Mutex<[String?]>([])
        let handler = ClosureContinuationHandler { activity in
            let window = activity.window(among: windows) { $0.1 }?.0
            chosen.withLock { $0.append(window) }
        }
        try await ContinuationTests.Desk.with(handler) { desk in
            for target in ["letter-3", "letter-9", nil] {
                let activity = UserActivity(type: ContinuationTests.editing)
                activity.targetContentIdentifier = target
                let offer = try await desk.offer(activity)
                #expect(offer.targetContentIdentifier == target)
                try await desk.continue(offer)
            }
            #expect(chosen.withLock { $0 } == ["middle", nil, nil])
        }
    }

    @Test(arguments: [
        "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "https:///path",
        "https://me:secret@example.com/",
        "https://me@example.com/",
    ])
    func `a web address is http or https, with a host and without a password (H-89)`(address: String) async throws {
        try await ContinuationTests.Desk.with(RestoringHandler(objects: [])) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            activity.webpageURL = URL(string: address)
            let host = try await desk.laptop.activityHost()
            let error = await #expect(throws: RemoteSystemError.self) { try await activity.becomeCurrent(at: host) }
            #expect(error?.code == .invalidArgument && error?.message.contains("secret") == false)
            // From a peer it is refused, too.
            var message: ValueSet = ["Type": .string(ContinuationTests.editing), "UserInfo": [:]]
            message["Webpage"] = activity.webpageURL.map { .url($0) }
            #expect(throws: ContinuationError.self) {
                try ActivityPayload(message, offeredAs: ContinuationTests.editing)
            }
        }
    }

    @Test func `an activity of a browser has an address and an empty dictionary (H-81)`() throws {
        let page = UserActivity(type: UserActivity.browsingWeb)
        #expect(throws: ContinuationError.self) { try ActivityPayload(page, isStale: false) }
        page.webpageURL = URL(string: "http://example.com/")
        _ = try ActivityPayload(page, isStale: false)
        page.userInfo = ["More": 1]
        #expect(throws: ContinuationError.self) { try ActivityPayload(page, isStale: false) }
    }

    @Test func `an application, else the browser, else nothing continues an activity (H-79, B-01, B-15)`() async throws
    {
        try await ContinuationTests.Desk.with(RestoringHandler(objects: [])) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            let offer = try await desk.offer(activity)
            // The stage's own system, for which the watcher watches, has no application.
            #expect(desk.watcher.choice(for: offer) == .none)
            activity.webpageURL = URL(string: "https://example.com/")
            try await desk.stage.eventually("the address is listed") { desk.watcher.offers.first?.hasWebpage == true }
            let withAddress = try #require(desk.watcher.offers.first)
            #expect(desk.watcher.choice(for: withAddress) == .browser)
            #expect(desk.watcher.choice(for: withAddress, in: "com.example.editor") == .none)
            let applications = desk.laptop.id == offer.system.id ? offer.system.applications : []
            let one = try #require(applications.first)
            let candidate = ContinuationChoice.Candidate(application: one)
            func choice(_ handlers: [ContinuationChoice.Candidate]) -> ContinuationChoice {
                ContinuationChoice(withAddress, handlers: handlers, acceptsUnsigned: true)
            }
            #expect(choice([candidate]) == .application(one))
            #expect(choice([candidate, candidate]) == .applications([one, one]))
        }
    }

    @Test func `the application's id and types are reverse-DNS names, and each type is named once (H-47, H-48, H-49)`()
        async throws
    {
        for id in [
            "editor", "", "com.", "com.example.my editor", "com.example.\u{1B}[2J",
            "a." + String(repeating: "b", count: 255),
        ] {
            let host = UserActivityHost(application: id, activityTypes: ["com.example.editing"])
            let error = await #expect(throws: RemoteSystemError.self, "\(id)") { try await host.run() }
            #expect(error?.code == .invalidArgument && error?.message.contains("\u{1B}") == false)
        }
        for types in [["editing"], ["com.example."], ["com..a"], ["com.exa mple"], ["a.b", "a.b"], [""]] {
            let host = UserActivityHost(application: "com.example.editor", activityTypes: types)
            let error = await #expect(throws: RemoteSystemError.self, "\(types)") { try await host.run() }
            #expect(error?.code == .invalidArgument)
        }
        #expect(
            ActivityTypeName.isValid("com.company.app.activity") && ActivityTypeName.isValid("com.company.activity")
        )
        #expect(!ActivityTypeName.isValid("a." + String(repeating: "b", count: 255)))
    }

    @Test func `a delegate that does not return in time leaves the last saved state, which is marked (H-33)`()
        async throws
    {
        final class Asleep: UserActivityDelegate {
            let isAsked = Mutex(false)
            func userActivityWillSave(_ activity: UserActivity) async {
                self.isAsked.withLock { $0 = true }
                try? await Task.sleep(for: .seconds(3600))
            }
        }
        let received = Mutex<(Bool, ValueSet)?>(nil)
        let handler = ClosureContinuationHandler { activity in
            received.withLock { $0 = (activity.isStale, activity.userInfo) }
        }
        try await ContinuationTests.Desk.with(handler) { desk in
            let (activity, delegate) = (UserActivity(type: ContinuationTests.editing), Asleep())
            activity.userInfo = ["Text": "saved"]
            activity.delegate = delegate
            activity.needsSave = true
            let offer = try await desk.offer(activity)
            async let continued: Void = desk.continue(offer)
            try await desk.stage.eventually("the delegate is asked") { delegate.isAsked.withLock { $0 } }
            try await desk.stage.advance(by: .seconds(4))
            try await continued
            #expect(received.withLock { $0?.0 } == true)
            #expect(received.withLock { $0?.1 } == ["Text": "saved"])
            // The next receiver gets another chance.
            #expect(activity.needsSave)
        }
    }

    @Test func `content above 3 KiB is logged once it is sent, and small content is not (H-29, H-90, X-01)`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let probe = UserActivity(type: ContinuationTests.editing)
            probe.userInfo = ["Text": .string(String(repeating: "x", count: 3000))]
            // What is left for the text in 3 KiB, which are not logged. One byte more is.
            let most = (3 << 10) - (try ActivityPayload(probe, isStale: false).bytes - 3000)
            for (bytes, isLogged) in [(most, false), (most + 1, true)] {
                let (origin, log) = ActivityOrigin.logged(stage)
                origin.begin()
                let activity = UserActivity(type: ContinuationTests.editing)
                activity.userInfo = ["Text": .string(String(repeating: "x", count: bytes))]
                try await origin.makeCurrent(activity)
                _ = try await origin.fetch(activity.id, over: ObjectIdentifier(activity), for: .staged(), nil)
                #expect(log.entries.contains { "\($0.message)".contains("is large") } == isLogged)
                origin.end()
            }
        }
    }

    @Test func `the origin logs why content cannot be sent, with the size (H-27, H-28, X-01)`() async throws {
        try await DiscoveryStage.with { stage in
            let contents: [(ValueSet, ContinuationError.Code?)] = [
                (["Text": .string(String(repeating: "x", count: 65 << 10))], .payloadTooLarge),
                (["File": .url(URL(filePath: "/etc/passwd"))], .payloadInvalid),
                (["Text": "short"], nil),
            ]
            for (content, code) in contents {
                let (origin, log) = ActivityOrigin.logged(stage)
                origin.begin()
                let activity = UserActivity(type: ContinuationTests.editing)
                activity.userInfo = content
                try await origin.makeCurrent(activity)
                var failure: ContinuationError?
                do {
                    _ = try await origin.fetch(activity.id, over: ObjectIdentifier(activity), for: .staged(), nil)
                } catch {
                    failure = error as? ContinuationError
                }
                let warnings = log.entries.filter { "\($0.message)".contains("cannot be sent") }
                #expect(failure?.code == code && warnings.count == (code == nil ? 0 : 1))
                // The reason, which states the size, is the one that the receiver gets.
                #expect(warnings.first?.metadata["reason"].map { "\($0)" } == failure?.message)
                if code == .payloadTooLarge { #expect(failure?.message.contains("bytes; at most 65536") == true) }
                origin.end()
            }
        }
    }

    @Test func `every cause of a failure is documented (B-09)`() throws {
        let root = (1...3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let page = try String(contentsOf: root.appending(path: "Docs/activities.md"), encoding: .utf8)
        for code in ContinuationError.Code.all {
            #expect(page.contains("| `\(code)` |"), "\(code)")
            // Each one keeps its meaning on its way to another program.
            let failure = ContinuationError(code, "Text.", side: .remote, canRetry: true).failure
            let received = ContinuationError(
                RemoteSystemError(
                    .serviceFailed,
                    failure.message,
                    side: .remote,
                    canRetry: failure.canRetry,
                    outcome: .failed,
                    failureCode: failure.code
                )
            )
            #expect(received.code == code && received.message == "Text." && received.canRetry, "\(code)")
        }
        let version = ContinuationError(RemoteSystemError(.incompatibleVersion, "Text.", side: .remote))
        #expect(version.code == .versionNotSupported)
    }

    @Test func `a cause that only a later version knows keeps its message, and whether a retry helps`() {
        for canRetry in [true, false] {
            let unknown = ContinuationError(
                RemoteSystemError(
                    .serviceFailed,
                    "Text.",
                    side: .remote,
                    canRetry: canRetry,
                    outcome: .failed,
                    failureCode: "\(ActivityDescriptor.topic).of-later-version"
                )
            )
            #expect(unknown.message == "Text." && unknown.canRetry == canRetry && unknown.side == .remote)
        }
    }
}

extension ActivityOrigin {
    /// An origin of a staged system, and what it logs.
    static func logged(_ stage: DiscoveryStage) -> (ActivityOrigin, InMemoryLogHandler) {
        let log = InMemoryLogHandler()
        var configuration = stage.configuration
        configuration.logger = Logger(label: "test") { _ in log }
        return (ActivityOrigin(configuration, UserActivityHost.Options()), log)
    }
}
