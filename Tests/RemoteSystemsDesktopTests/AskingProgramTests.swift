// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import IntegrationSupport
import Logging
import RemoteSystems
import Testing

@testable import RemoteSystemsDesktop

/// The question to the user before a URI is opened, and the program that asks it.
@Suite struct AskingProgramTests {
    @Test(arguments: [
        ("com.example.player", "The application com.example.player"), ("7zip", "The application 7zip"),
        ("--help", "An application"), ("-", "An application"), (".hidden", "An application"), ("", "An application"),
        ("a b", "An application"), ("a\nb", "An application"), ("<b>", "An application"),
        (String(repeating: "a", count: 129), "An application"),
    ])
    func `the question begins with fixed words, and repeats only a valid application id (X-20)`(
        id: String,
        subject: String
    ) throws {
        let caller = try Self.caller(application: id)
        #expect(
            AskingProgram.question("tel:1", of: caller)
                == "\(subject) on the system \(caller.systemID.short) of your account wants to open this here: tel:1"
        )
    }

    @Test func `the question states that the system is of a linked account`() throws {
        let account = try #require(AccountID(bytes: [UInt8](repeating: 3, count: 32)))
        let caller = try Self.caller(standing: .linked(account, Grants(uriSchemes: ["tel"])))
        #expect(
            AskingProgram.question("tel:1", of: caller)
                == "The application test.caller on the system \(caller.systemID.short) of the linked account "
                + "\(account.short) wants to open this here: tel:1"
        )
    }

    private static func caller(
        application: String = "test.caller",
        standing: Standing? = nil,
        isLocal: Bool = false
    ) throws -> AppServiceCaller {
        let account = try #require(AccountID(bytes: [UInt8](repeating: 2, count: 32)))
        return AppServiceCaller(
            systemID: try #require(SystemID(bytes: [UInt8](repeating: 1, count: 32))),
            standing: standing ?? .sameAccount(account),
            isLocal: isLocal,
            claimedApplicationID: application
        )
    }

    /// Asks questions of systems, each with its number, and returns those that were asked, in their order.
    ///
    /// - Parameter cancelled: the indices of questions that are cancelled while they wait.
    private static func asked(_ systems: [UInt8], cancelled: Set<Int> = []) async throws -> [String] {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ask-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // The first question is answered only once all others are queued.
        let script = #"printf '%s\n' "$0" >> asked; while [ ! -e go ]; do sleep 0.02; done"#
        let asking = AskingProgram(
            ["/usr/bin/env", "-C", directory, "/bin/sh", "-c", script],
            environment: ["PATH": "/usr/bin:/bin"],
            timeout: .seconds(600),
            logger: Logger(label: "test")
        )
        let deadline = ContinuousClock.now + .seconds(600)
        var questions: [Task<AskingProgram.Answer, Never>] = []
        for (index, system) in systems.enumerated() {
            let holder = QuotaHolder.system(try #require(SystemID(bytes: [UInt8](repeating: system, count: 32))))
            questions.append(Task { await asking.ask("\(index + 1)", of: holder, until: deadline) })
            while await asking.inFlight <= index { await Task.yield() }
        }
        for index in cancelled {
            questions[index].cancel()
            #expect(await questions[index].value == .notShown)
        }
        _ = FileManager.default.createFile(atPath: "\(directory)/go", contents: nil)
        for index in questions.indices where !cancelled.contains(index) {
            #expect(await questions[index].value == .allowed)
        }
        #expect(await asking.inFlight == 0)
        let asked = try String(contentsOfFile: "\(directory)/asked", encoding: .utf8)
        return asked.split(separator: "\n").map(String.init)
    }

    @Test func `questions of one system are asked in order of arrival, and a cancelled one is skipped`() async throws {
        let asked = try await Self.asked([1, 1, 1, 1, 1, 1], cancelled: [2])
        #expect(asked == ["1", "2", "4", "5", "6"])
    }

    @Test func `a question that the user ignores does not take the time of the next one`() async throws {
        let asking = AskingProgram(
            ["/bin/sh", "-c", #"[ "$0" = other ] || exec sleep 600"#],
            environment: ["PATH": "/usr/bin:/bin"],
            timeout: .seconds(4),
            logger: Logger(label: "test")
        )
        let deadline = ContinuousClock.now + .seconds(600)
        let holder = QuotaHolder.system(try #require(SystemID(bytes: [UInt8](repeating: 1, count: 32))))
        let ignored = Task { await asking.ask("ignored", of: holder, until: deadline) }
        while await asking.inFlight < 1 { await Task.yield() }
        // Waits for as long as a question is shown.
        #expect(await asking.ask("other", of: holder, until: deadline) == .allowed)
        #expect(await ignored.value == .denied)
    }

    @Test func `systems take turns, so that one with many questions delays those of another by one each`()
        async throws
    {
        let asked = try await Self.asked([1, 1, 1, 1, 1, 2, 2, 3])
        #expect(asked == ["1", "6", "8", "2", "7", "3", "4", "5"])
    }

    @Test func `a question that was given up does not cost its system the turn`() async throws {
        let asked = try await Self.asked([1, 1, 1, 1, 2, 2, 2], cancelled: [4, 5])
        #expect(asked == ["1", "7", "2", "3", "4"])
    }

    @Test func `after three questions that were denied, those of that system are not shown, but those of others are`()
        async throws
    {
        let asking = AskingProgram(
            ["/bin/sh", "-c", #"[ "$0" = allowed ]"#],
            environment: ["PATH": "/usr/bin:/bin"],
            timeout: .seconds(600),
            // Long, so that no question is permitted again during the test.
            pace: QuestionPace(interval: .seconds(1000)),
            logger: Logger(label: "test")
        )
        let deadline = ContinuousClock.now + .seconds(600)
        let hostile = QuotaHolder.system(try #require(SystemID(bytes: [UInt8](repeating: 1, count: 32))))
        let other = QuotaHolder.system(try #require(SystemID(bytes: [UInt8](repeating: 2, count: 32))))
        for _ in 0..<3 {
            // An allowed question costs nothing, and neither does one that is not shown because its time is over.
            #expect(await asking.ask("allowed", of: hostile, until: deadline) == .allowed)
            #expect(await asking.ask("denied", of: hostile, until: .now) == .notShown)
            #expect(await asking.ask("denied", of: hostile, until: deadline) == .denied)
        }
        #expect(await asking.ask("allowed", of: hostile, until: deadline) == .notShown)
        #expect(await asking.ask("allowed", of: other, until: deadline) == .allowed)
    }

    @Test func `a program that cannot be started is logged once, and the system that asks need not pause`()
        async throws
    {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ask-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let program = "\(directory)/ask"
        let log = InMemoryLogHandler()
        let asking = AskingProgram(
            [program],
            environment: ["PATH": "/usr/bin:/bin"],
            timeout: .seconds(600),
            pace: QuestionPace(interval: .seconds(1000)),
            logger: Logger(label: "test") { _ in log }
        )
        let holder = try Self.caller().quotaHolder
        func ask() async -> AskingProgram.Answer {
            await asking.ask("question", of: holder, until: .now + .seconds(600))
        }
        // As often as a system may ask in vain.
        for _ in 0..<3 {
            let answer = await ask()
            #expect(answer == .notStarted)
        }
        // The repetitions are logged at the level debug.
        #expect(log.entries.map(\.level) == [.error])
        try writeProgram("#!/bin/sh\n", to: program)
        let shown = await ask()
        #expect(shown == .allowed)
        try FileManager.default.removeItem(atPath: program)
        let again = await ask()
        #expect(again == .notStarted)
        #expect(log.entries.map(\.level) == [.error, .error])
    }

    @Test(arguments: [true, false])
    func `questions of programs of the system itself are shown as often as they are asked`(isLocal: Bool) async throws {
        let asking = AskingProgram(
            ["/bin/sh", "-c", "exit 1"],
            environment: ["PATH": "/usr/bin:/bin"],
            timeout: .seconds(600),
            pace: QuestionPace(interval: .seconds(1000)),
            logger: Logger(label: "test")
        )
        let request = LaunchURIRequest(
            uri: try LaunchURI("tel:1"),
            isFallback: false,
            options: RemoteLauncherOptions(),
            inputData: nil,
            caller: try Self.caller(isLocal: isLocal),
            deadline: .now + .seconds(600)
        )
        var shown = 0
        for _ in 0..<10 {
            // Throws if the question was not shown.
            guard let isAllowed = try? await asking.ask(request) else { continue }
            #expect(!isAllowed)
            shown += 1
        }
        #expect(shown == (isLocal ? 10 : 3))
    }
}
