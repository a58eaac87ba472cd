// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import Synchronization
import Testing
import UserNotifications

extension HostDaemonTests {
    /// The notifications of applications that leave them to the daemon.
    @Suite struct NotificationCenters {
        private static let invitation = NotificationCategory(
            identifier: "event-invite",
            actions: [
                NotificationAction(identifier: "accept", title: "Accept"),
                NotificationAction(TextInputNotificationAction(identifier: "comment", title: "Comment")),
            ]
        )

        private static func center(_ daemon: Daemon, _ id: String) async throws -> UserNotificationCenter {
            let center = try await UserNotificationCenter(
                connectingToDaemonOf: daemon.configuration(id),
                applicationName: "Calendar",
                within: .seconds(60)
            )
            try await center.setNotificationCategories([Self.invitation])
            return center
        }

        private static func request(_ id: String, in seconds: Double? = nil) -> NotificationRequest {
            NotificationRequest(
                identifier: id,
                content: NotificationContent(title: "Lunch \(id)", categoryIdentifier: "event-invite"),
                trigger: seconds.map { .timeInterval(.milliseconds(Int($0 * 1000))) }
            )
        }

        /// Waits until a notification is listed, and answers it with a command.
        private static func answer(_ id: String, _ answer: String..., on daemon: Daemon) async throws {
            let key = try await eventually("\(id) is listed", within: .seconds(60), every: .milliseconds(50)) {
                let (_, lines) = try await daemon.finish(["notifications", "list", "--json", "--loopback"])
                let line = lines.first { $0.contains(#""id":"\#(id)""#) }
                return line?.firstMatch(of: /"key":"([0-9]+)"/).map { String($0.output.1) }
            }
            let (status, lines) = try await daemon.finish(["notifications", "answer", key, "--loopback"] + answer)
            #expect(status == 0, "\(lines)")
        }

        @Test func `notifications and responses survive the daemon, and the application is asked once (N-07, N-54)`()
            async throws
        {
            try await Daemon.with { daemon in
                let box = Mutex<UserNotificationCenter?>(nil)
                try await daemon.whileRunning { process, _ in
                    let center = try await Self.center(daemon, "test.calendar")
                    try await center.add(Self.request("now"))
                    try await center.add(Self.request("soon", in: 1))
                    try await center.add(Self.request("later", in: 3600))
                    try await center.add(Self.request("removed", in: 3600))
                    // More than one request has.
                    let unknown = (0..<128).map { "unknown \($0)" }
                    try await center.removePendingNotifications(withIdentifiers: unknown + ["removed"])
                    try await center.removeDeliveredNotifications(withIdentifiers: unknown)
                    #expect(try await center.pendingNotifications.map(\.request.identifier).last == "later")
                    let trigger = try await center.pendingNotifications.last?.request.trigger
                    #expect(trigger == .timeInterval(.seconds(3600)))
                    process.send(SIGKILL)
                    _ = try await process.exit()
                    box.withLock { $0 = center }
                }
                let center = try #require(box.withLock { $0 })
                try await daemon.whileRunning { _, _ in
                    // The connection finds the new daemon.
                    _ = try await eventually("both are delivered", within: .seconds(60)) {
                        let delivered = try? await center.deliveredNotifications
                        return delivered?.map(\.request.identifier) == ["now", "soon"] ? true : nil
                    }
                    #expect(try await center.pendingNotifications.map(\.request.identifier) == ["later"])
                    try await Self.answer("soon", "comment", "--text", "I am late", on: daemon)
                    var responses = center.responses.makeAsyncIterator()
                    let response = try #require(await responses.next())
                    #expect(response.requestIdentifier == "soon" && response.userText == "I am late")
                    try await center.removeAllDeliveredNotifications()
                    try await center.removeAllPendingNotifications()
                    #expect(try await center.deliveredNotifications.isEmpty)
                    #expect(try await center.pendingNotifications.isEmpty)
                    await center.close()
                    #expect(await responses.next() == nil)
                }
            }
        }

        /// Terminals of its own, of which one accepts no messages. What they show is in files.
        private static let terminals = """
            set -e
            mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts /dev/pts
            mount --bind /dev/pts/ptmx /dev/ptmx
            for one in 'open y' 'closed n'; do
                # Each ends with the command.
                script -qf -c "mesg ${one#* }; echo ready; while kill -0 $$ 2>/dev/null; do sleep 0.2; done" \
                    "$1/${one% *}" >/dev/null </dev/null &
            done
            for file in open closed; do
                for try in $(seq 300); do grep -qs ready "$1/$file" && break; sleep 0.1; done
            done
            shift
            exec "$@"
            """

        @Test func `a new notification is written to the terminals that accept messages (X-82)`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let center = try await Self.center(daemon, "test.calendar")
                    try await center.add(Self.request("earlier"))
                    let watching = try daemon.command(
                        ["notifications", "watch", "--terminals", "--loopback"],
                        around: ["unshare", "--mount", "--propagation", "private", "sh", "-c", Self.terminals, "sh"]
                            + [daemon.directory]
                    )
                    _ = try await eventually("it watches", within: .seconds(60)) {
                        watching.lines.contains { $0.contains("Lunch earlier") } ? true : nil
                    }
                    func shown(_ name: String) -> String {
                        (try? String(contentsOfFile: "\(daemon.directory)/\(name)", encoding: .utf8)) ?? ""
                    }
                    var request = Self.request("now")
                    request.content.body = "\u{1B}[31mred"
                    try await center.add(request)
                    let text = try await eventually("it is on the terminal", within: .seconds(60)) {
                        shown("open").contains("Answer") ? shown("open") : nil
                    }
                    #expect(text.contains("Lunch now") && !text.contains("Lunch earlier"), "\(text)")
                    #expect(text.contains("accept: Accept") && text.contains("comment: Comment (takes --text)"))
                    #expect(text.contains("Answer: remotesystems notifications answer "))
                    // Its texts do not control the terminal.
                    #expect(text.contains("\u{FFFD}[31mred"), "\(text)")
                    #expect(shown("closed").contains("ready") && !shown("closed").contains("Lunch"))
                    await watching.stop()
                    await center.close()
                }
            }
        }

        @Test
        func `an application leaves what is for systems that are away to the daemon, and takes back its own (N-08)`()
            async throws
        {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let centers = [
                        try await Self.center(daemon, "test.backup"), try await Self.center(daemon, "test.other"),
                    ]
                    // A system of no account is never there.
                    let away = String(repeating: "a", count: 52)
                    for center in centers {
                        for identifier in ["full", "done"] {
                            var notification = RemoteNotification(
                                NotificationRequest(
                                    identifier: identifier,
                                    content: NotificationContent(title: "Backup", userInfo: ["disk": 2])
                                )
                            )
                            notification.expiration = .seconds(3600)
                            try await center.post(notification, to: [away])
                        }
                        try await center.setBadgeCount(2)
                    }
                    let posted = try await centers[0].postedNotifications
                    #expect(posted.map(\.notification.request.identifier).sorted() == ["done", "full"])
                    let first = try #require(posted.first)
                    #expect(first.systemID == away && first.notification.applicationName == "Calendar")
                    #expect(first.notification.request.content.userInfo == ["disk": 2])
                    #expect(abs(first.expires.timeIntervalSince(first.date) - 3600) < 1)
                    let unknown = (0..<128).map { "unknown \($0)" }
                    try await centers[0].removePostedNotifications(withIdentifiers: unknown + ["full"])
                    #expect(try await centers[0].postedNotifications.count == 1)
                    #expect(try await centers[1].postedNotifications.count == 2)
                    await #expect(throws: NotificationError.self) {
                        try await centers[0].post(Self.remote(""), to: [away])
                    }
                    await #expect(throws: NotificationError.self) {
                        try await centers[0].post(Self.remote("a"), to: [])
                    }
                    for center in centers { await center.close() }
                }
            }
        }

        private static func remote(_ identifier: String) -> RemoteNotification {
            RemoteNotification(
                NotificationRequest(identifier: identifier, content: NotificationContent(title: "Backup"))
            )
        }

        @Test func `the daemon keeps the file of a scheduled notification, also when it is killed (N-23, N-24)`()
            async throws
        {
            try await Daemon.with { daemon in
                let box = Mutex<UserNotificationCenter?>(nil)
                let file = URL(filePath: "\(daemon.directory)/song.wav")
                let bytes = Data("RIFF....WAVEfmt music".utf8)
                try bytes.write(to: file)
                var request = Self.request("song", in: 1)
                request.content.attachments = [try NotificationAttachment(identifier: "song", url: file)]
                try await daemon.whileRunning { process, _ in
                    let center = try await Self.center(daemon, "test.player")
                    try await center.add(request)
                    box.withLock { $0 = center }
                    process.send(SIGKILL)
                    _ = try await process.exit()
                }
                try FileManager.default.removeItem(at: file)
                let center = try #require(box.withLock { $0 })
                try await daemon.whileRunning { _, _ in
                    let delivered = try await eventually("it is delivered", within: .seconds(60)) {
                        try? await center.deliveredNotifications.first
                    }
                    let attachment = try #require(delivered.request.content.attachments.first)
                    #expect(attachment.identifier == "song" && attachment.type == .wav)
                    #expect(try Data(contentsOf: try #require(attachment.url)) == bytes)
                    // The same centre sends files to the new daemon.
                    try Data("ID3 next".utf8).write(to: file)
                    var next = Self.request("next")
                    next.content.attachments = [try NotificationAttachment(url: file)]
                    try await center.add(next)
                    let last = try await center.deliveredNotifications.last
                    #expect(last?.request.content.attachments.count == 1)
                    // What cannot be read is an error, and nothing is scheduled.
                    try Data("ID3".utf8).write(to: file)
                    var lost = Self.request("lost", in: 60)
                    lost.content.attachments = [try NotificationAttachment(url: file)]
                    try FileManager.default.removeItem(at: file)
                    do {
                        try await center.add(lost)
                        Issue.record("It was added without its file.")
                    } catch let error as NotificationError {
                        #expect(error.code == .attachmentInvalid)
                    }
                    #expect(try await center.pendingNotifications.isEmpty)
                    await center.close()
                }
            }
        }

        @Test func `an installed application is started for a response, and handles it (N-11, N-49)`() async throws {
            try await Daemon.with { daemon in
                try daemon.install("test.notified", start: try daemon.exec("test.notified"))
                try await daemon.whileRunning { _, _ in
                    let center = try await Self.center(daemon, "test.notified")
                    try await center.add(Self.request("42"))
                    await center.close()
                    try await Self.answer("42", "accept", on: daemon)
                    let record = try await eventually("the application handles it", within: .seconds(60)) {
                        daemon.starts.first { $0.hasPrefix("response ") }
                    }
                    #expect(record == "response 42 accept")
                    #expect(daemon.starts.count { $0.hasPrefix("started ") } == 1)
                }
            }
        }

        @Test func `a response comes again, with its id, after its application was killed in the handler (N-50)`()
            async throws
        {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let center = try await Self.center(daemon, "test.notified")
                    try await center.add(Self.request("42"))
                    await center.close()
                    try await Self.answer("42", "accept", on: daemon)
                    // It is not installed, so the daemon does not start it meanwhile.
                    let killed = ["KILLED_IN_HANDLER": "yes"]
                    try await daemon.withProgram("test.notified", environment: killed) { program in
                        let status = try await program.exit(within: .seconds(60))
                        #expect(status == 128 + SIGKILL)
                    }
                    let first = daemon.starts.filter { $0.hasPrefix("handling ") }
                    #expect(first.count == 1, "\(daemon.starts)")
                    try await daemon.withProgram("test.notified") { _ in
                        _ = try await eventually("it comes again", within: .seconds(60)) {
                            daemon.starts.contains("response 42 accept") ? true : nil
                        }
                    }
                    #expect(daemon.starts.filter { $0.hasPrefix("handling ") } == first + first)
                }
            }
        }

        @Test func `an installed application that is killed in its handler is started again for the response (N-50)`()
            async throws
        {
            try await Daemon.with { daemon in
                // Once, so that the second process handles it.
                let program = try daemon.program("test.notified").split(separator: " ").map { #""\#($0)""# }
                let command = [#""/usr/bin/env""#, #""KILLED_ONCE_IN_HANDLER=yes""#] + program
                try daemon.install("test.notified", start: #"{"exec": [\#(command.joined(separator: ", "))]}"#)
                try await daemon.whileRunning { _, _ in
                    let center = try await Self.center(daemon, "test.notified")
                    try await center.add(Self.request("42"))
                    try await center.add(Self.request("43"))
                    await center.close()
                    try await Self.answer("42", "accept", on: daemon)
                    _ = try await eventually("it is handled after the second start", within: .seconds(90)) {
                        daemon.starts.contains("response 42 accept") ? true : nil
                    }
                    // Responses come in their order: if the first one came once more, it would come before this one.
                    try await Self.answer("43", "accept", on: daemon)
                    _ = try await eventually("the next one is handled", within: .seconds(60)) {
                        daemon.starts.contains("response 43 accept") ? true : nil
                    }
                    let records = daemon.starts
                    let handled = records.filter { $0.hasPrefix("handling ") }
                    #expect(handled.count == 3 && handled[0] == handled[1] && handled[1] != handled[2], "\(records)")
                    #expect(records.count { $0.hasPrefix("started ") } == 2, "\(records)")
                    #expect(records.count { $0 == "response 42 accept" } == 1, "\(records)")
                }
            }
        }

        @Test func `an installed application is started for an update, handles it, and the sender learns how (N-08)`()
            async throws
        {
            try await Daemon.with { daemon in
                try daemon.install("test.notified", start: try daemon.exec("test.notified"))
                try await daemon.whileRunning { _, _ in
                    func send(_ day: String, _ application: String) async throws -> [String] {
                        let payload = "\(daemon.directory)/payload.json"
                        try #"{"aps": {"content-available": 1}, "day": "\#(day)"}"#
                            .write(toFile: payload, atomically: true, encoding: .utf8)
                        let (_, lines) = try await daemon.finish(
                            ["notify", "--all", "--payload", payload, "--application", application, "--loopback"]
                                + ["--json"]
                        )
                        return lines.filter { $0.contains(#""event":"delivery""#) }
                    }
                    let handled = try await send("monday", "test.notified")
                    #expect(handled.count == 1 && handled[0].contains(#""status":"handled""#), "\(handled)")
                    let failed = try await send("someday", "test.notified")
                    #expect(failed.joined().contains("There is no such day."), "\(failed)")
                    let unknown = try await send("monday", "test.unknown")
                    #expect(unknown.joined().contains("'test.unknown' is not installed"), "\(unknown)")
                    let records = daemon.starts.filter { $0.hasPrefix("update ") || $0.hasPrefix("started ") }
                    #expect(records.map { $0.prefix { $0 != " " } } == ["started", "update", "update"], "\(records)")
                    #expect(records[1].hasPrefix("update monday by remote-systems.command.notify of "), "\(records)")
                    let (_, list) = try await daemon.finish(["notifications", "list", "--loopback"])
                    #expect(!list.joined().contains("monday"), "\(list)")
                }
            }
        }

        @Test func `in the foreground, the application decides, also about what is due (X-57)`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let center = try await Self.center(daemon, "test.calendar")
                    let asked = Mutex<[String]>([])
                    await center.setWillPresent { request in
                        asked.withLock { $0.append(request.identifier) }
                        return request.identifier == "hidden" ? [] : .all
                    }
                    try await center.add(Self.request("hidden", in: 0.2))
                    try await center.add(Self.request("visible", in: 0.3))
                    _ = try await eventually("both were decided", within: .seconds(60)) {
                        let pending = try await center.pendingNotifications
                        let delivered = try await center.deliveredNotifications.map(\.request.identifier)
                        let isAsked = Set(asked.withLock { $0 }) == ["hidden", "visible"]
                        return isAsked && pending.isEmpty && delivered == ["visible"] ? true : nil
                    }
                    // Hidden in place of the visible one, which is not left behind.
                    await center.setWillPresent { _ in [] }
                    try await center.add(Self.request("visible"))
                    #expect(try await center.deliveredNotifications.isEmpty)
                    await center.close()
                }
            }
        }

        @Test func `errors of the daemon are those of the centre (X-63)`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let center = try await Self.center(daemon, "test.calendar")
                    for number in 0..<64 { try await center.add(Self.request("\(number)", in: 3600)) }
                    let error = await #expect(throws: NotificationError.self) {
                        try await center.add(Self.request("64", in: 3600))
                    }
                    #expect(error?.code == .tooManyPending)
                    await center.close()
                }
            }
        }

        @Test func `the user denies an application its notifications, also after a restart (X-56)`() async throws {
            try await Daemon.with { daemon in
                let permit = ["notifications", "permit", "--loopback"]
                try await daemon.whileRunning { _, _ in
                    let center = try await Self.center(daemon, "test.calendar")
                    #expect(try await center.requestAuthorization())
                    try await center.add(Self.request("scheduled", in: 3600))
                    let (status, lines) = try await daemon.finish(
                        permit + ["denied", "--application", "test.calendar"]
                    )
                    #expect(status == 0 && lines.last == "denied  test.calendar", "\(lines)")
                    #expect(try await !center.requestAuthorization())
                    // No system has such an id, and half of one would match no sender.
                    let (refused, _) = try await daemon.finish(permit + ["denied", "--system", "fivzmcoa4n2q"])
                    #expect(refused == 2)
                    await center.close()
                }
                try await daemon.whileRunning { _, _ in
                    let center = try await Self.center(daemon, "test.calendar")
                    for request in [Self.request("now"), Self.request("later", in: 60)] {
                        let error = await #expect(throws: NotificationError.self) { try await center.add(request) }
                        #expect(error?.code == .notAuthorized)
                    }
                    let other = try await Self.center(daemon, "test.mail")
                    try await other.add(Self.request("now"))
                    _ = try await daemon.finish(permit + ["allowed", "--application", "test.calendar"])
                    try await center.add(Self.request("now"))
                    #expect(try await center.pendingNotifications.map(\.request.identifier) == ["scheduled"])
                    await center.close()
                    await other.close()
                }
            }
        }

        @Test func `without a daemon, the centre says so`() async throws {
            try await Daemon.with { daemon in
                let error = await #expect(throws: RemoteSystemError.self) {
                    try await UserNotificationCenter(
                        connectingToDaemonOf: daemon.configuration(),
                        applicationName: "Calendar",
                        within: .milliseconds(200)
                    )
                }
                #expect(error?.code == .unreachable && error?.message.contains("remotesystems host run") == true)
            }
        }
    }
}
