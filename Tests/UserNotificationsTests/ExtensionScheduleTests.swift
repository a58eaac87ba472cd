// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import UserNotificationsUI
import ValueSets

@testable import UserNotifications

/// Notifications that extensions schedule for their applications.
@Suite struct ExtensionScheduleTests {
    /// An extension of the application `photos`, which writes lines and ends.
    private final class Programs: ServiceExtensionPrograms {
        private let lines: [String]
        private let started = Mutex<[StagedExtensionProgram]>([])

        init(_ lines: [String]) { self.lines = lines }

        /// What the extension has received after the request.
        var responses: [String] { self.started.withLock { $0 }.flatMap { $0.requests.dropFirst() } }

        func hasExtension(_ application: String) -> Bool { application == "photos" }
        func stop() async {}

        func start(_ application: String) async throws(NotificationError) -> (any ExtensionProgram)? {
            let program = StagedExtensionProgram()
            for line in self.lines { program.respond(line) }
            self.started.withLock { $0.append(program) }
            return program
        }
    }

    private static let response = #"{"Content":{"Title":"Changed"}}"#

    private static func schedule(_ id: String, _ trigger: String = #""Trigger":{"Milliseconds":60000}"#) -> String {
        #"{"Schedule":{"Id":"\#(id)","Content":{"Title":"Later"},\#(trigger)}}"#
    }

    /// Delivers a notification that an extension changes after it has written the lines.
    private static func with(
        _ lines: [String],
        isDenied: Bool = false,
        attachments: AttachmentDirectory? = nil,
        _ body: (ReceivingSystem, [String]) async throws -> Void
    ) async throws {
        try await ReceivingSystem.with(attachments: attachments) { receiving in
            let programs = Programs(lines + [Self.response])
            await receiving.receiver.setExtensions(programs)
            await receiving.receiver.setSystem(receiving.host.id)
            if isDenied {
                let subject = NotificationPermissions.Subject(system: nil, application: "photos")
                try await receiving.receiver.set(.denied, for: subject)
            }
            let connection = try await receiving.connect()
            var notification = ReceivingSystem.question()
            notification.isMutable = true
            notification.targetApplicationID = "photos"
            #expect(try await connection.deliver(notification) == NotificationDelivery(.shown))
            #expect(receiving.screen.history.map(\.content.title) == ["Changed"])
            try await body(receiving, programs.responses)
            await connection.close()
        }
    }

    private static func code(_ response: String?) -> NotificationError.Code? {
        guard case .failure(let error)? = response.flatMap({ ExtensionSchedule.response(in: $0) }) else { return nil }
        return error.code
    }

    @Test func `a service extension schedules a notification, which its application owns (N-02)`() async throws {
        try await Self.with([Self.schedule("later")]) { receiving, responses in
            let pending = await receiving.receiver.pending.all
            let owner = NotificationSender(systemID: "\(receiving.host.id)", application: "photos", isLocal: true)
            #expect(pending.map(\.sender) == [owner] && pending.map(\.key.identifier) == ["later"])
            guard case .success(let date?)? = responses.first.flatMap({ ExtensionSchedule.response(in: $0) }) else {
                return #expect(Bool(false), "\(responses)")
            }
            #expect(abs(date.timeIntervalSince(pending.first?.date ?? .distantPast)) < 0.01)
            let response = try ValueSet(json: try #require(responses.first))
            #expect(response["Scheduled"]?.dictionary?["Id"]?.string == "later")
            // It outlives the extension.
            try await receiving.stage.advance(by: .seconds(61))
            try await receiving.stage.eventually("it is delivered") {
                receiving.screen.history.map(\.content.title) == ["Changed", "Later"]
            }
            #expect(await receiving.receiver.pending.all.isEmpty)
        }
    }

    @Test func `an extension has the limit of its application (N-02, X-63)`() async throws {
        let max = NotificationLimits.pendingRequests
        // One that replaces another needs no place.
        let lines = (0...max).map { Self.schedule("\($0)") } + [Self.schedule("0")]
        try await Self.with(lines) { receiving, responses in
            #expect(responses.count == max + 2)
            #expect(await receiving.receiver.pending.all.count == max)
            let codes: [NotificationError.Code?] = Array(repeating: nil, count: max) + [.tooManyPending, nil]
            #expect(responses.map(Self.code) == codes)
        }
    }

    @Test func `an extension has the permission of its application (N-02, X-56)`() async throws {
        try await Self.with([Self.schedule("later")], isDenied: true) { receiving, responses in
            #expect(responses.map(Self.code) == [.notAuthorized])
            #expect(await receiving.receiver.pending.all.isEmpty)
        }
    }

    @Test(arguments: [
        (#""Trigger":{"Milliseconds":0}"#, NotificationError.Code.triggerInvalid), (#""Other":1"#, .triggerInvalid),
        (#""Trigger":7"#, .invalidContent),
        (#""Trigger":{"Milliseconds":60000},"Files":{"a":"relative"}"#, .attachmentInvalid),
        (#""Trigger":{"Milliseconds":60000},"Files":7"#, .invalidContent),
    ])
    func `an extension learns why a notification is not scheduled`(fields: String, code: NotificationError.Code)
        async throws
    {
        // Its response is used nevertheless.
        try await Self.with([Self.schedule("later", fields)]) { receiving, responses in
            #expect(responses.map(Self.code) == [code], "\(responses)")
            #expect(await receiving.receiver.pending.all.isEmpty)
        }
    }

    @Test func `an extension sends the category along that it names (N-29)`() async throws {
        func line(_ id: String, _ more: String) -> String {
            #"{"Schedule":{"Id":"\#(id)","Content":{"Title":"Later","Category":"invite"},"#
                + #""Trigger":{"Milliseconds":60000}\#(more)}}"#
        }
        let category = #","Category":{"Id":"invite","Actions":[{"Id":"yes","Title":"Yes"}]}"#
        try await Self.with([line("without", ""), line("with", category)]) { receiving, responses in
            #expect(responses.map(Self.code) == [.categoryUnknown, nil], "\(responses)")
            #expect(await receiving.receiver.pending.all.map(\.key.identifier) == ["with"])
        }
    }

    @Test func `a file of a scheduled notification is kept (N-02, N-24)`() async throws {
        try await AttachmentFiles.with { files in
            let path = try files.file("photo").path
            let fields = #""Trigger":{"Milliseconds":60000},"Files":{"photo":"\#(path)"}"#
            try await Self.with([Self.schedule("later", fields)], attachments: files.received) { receiving, responses in
                #expect(responses.map(Self.code) == [nil], "\(responses)")
                let content = await receiving.receiver.pending.all.first?.notification.request.content
                #expect(content?.attachments.map(\.identifier) == ["photo"] && content?.title == "Later")
                #expect(content?.attachments.first?.url != nil)
            }
        }
    }

    // MARK: The process of the extension

    private static func request(_ id: String) -> NotificationRequest {
        NotificationRequest(
            identifier: id,
            content: NotificationContent(title: "Later"),
            trigger: .timeInterval(.seconds(60))
        )
    }

    /// Schedules two notifications, of which the second has no place.
    private struct Planning: NotificationServiceExtension {
        func didReceive(
            _ request: NotificationRequest,
            _ context: NotificationServiceContext
        ) async throws -> NotificationContent {
            let date = try await context.schedule(ExtensionScheduleTests.request("1"), applicationName: "Photos")
            do {
                try await context.schedule(ExtensionScheduleTests.request("2"))
            } catch let error as NotificationError {
                return NotificationContent(title: "\(date?.timeIntervalSince1970 ?? 0) \(error.code) \(error.message)")
            }
            return request.content
        }
    }

    /// The response of the host daemon to a line.
    private static func answer(_ line: String) -> String? {
        guard let message = ExtensionSchedule.request(in: line) else { return nil }
        let id = message["Id"]?.string ?? ""
        let isFirst = id == "1" && message["Name"]?.string == "Photos"
        return try? ExtensionSchedule.response(
            to: id,
            isFirst
                ? .success(Date(timeIntervalSince1970: 7)) : .failure(NotificationError(.tooManyPending, "It is full."))
        )
    }

    private static let received = NotificationRequest(identifier: "q", content: NotificationContent(title: "t"))

    @Test func `a service extension waits for the responses of the host daemon (N-02)`() async throws {
        let (lines, feed) = AsyncStream.makeStream(of: String.self)
        let sender = NotificationSender(systemID: "s", application: "a")
        feed.yield(try ServiceExtensionMessage.request(Self.received, of: sender, seconds: 30))
        let response = try await ServiceExtensionMain.response(of: Planning(), to: lines) { line in
            if let answer = Self.answer(line) { feed.yield(answer) }
        }
        let content = try ServiceExtensionMessage.readResponse(response).content
        #expect(content.title == "7.0 tooManyPending It is full.")
    }

    @Test func `a service extension that waits learns that the host daemon has ended`() async throws {
        let (lines, feed) = AsyncStream.makeStream(of: String.self)
        let sender = NotificationSender(systemID: "s", application: "a")
        feed.yield(try ServiceExtensionMessage.request(Self.received, of: sender, seconds: 30))
        await #expect(throws: NotificationError.self) {
            try await ServiceExtensionMain.response(of: Planning(), to: lines) { _ in feed.finish() }
        }
    }

    private struct PlanningView: NotificationContentExtension {
        func didReceive(
            _ notification: DeliveredNotification,
            _ context: NotificationCardContext
        ) async throws -> NotificationCard {
            let date = try await context.schedule(ExtensionScheduleTests.request("1"), applicationName: "Photos")
            return NotificationCard(elements: [.text("\(date?.timeIntervalSince1970 ?? 0)")])
        }
    }

    @Test func `a content extension waits for the response while it prepares its view (N-02)`() async throws {
        let (lines, feed) = AsyncStream.makeStream(of: String.self)
        let notification = DeliveredNotification(request: Self.received, date: Date(timeIntervalSince1970: 1))
        feed.yield(try ContentExtensionRequest.notification(notification).line)
        let cards = Mutex<[ContentExtensionReply]>([])
        try await ContentExtensionMain.serve(PlanningView(), lines) { line in
            if let answer = Self.answer(line) {
                feed.yield(answer)
                return
            }
            cards.withLock { $0 += (try? ContentExtensionReply.read(line)) ?? [] }
            feed.finish()
        } log: { _ in
        }
        #expect(cards.withLock { $0 } == [.card(NotificationCard(elements: [.text("7.0")]))])
    }
}
