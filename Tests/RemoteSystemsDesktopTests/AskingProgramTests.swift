// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
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
    ) {
        #expect(
            AskingProgram.question("tel:1", application: id, system: "ABCD")
                == "\(subject) on the system ABCD of your account wants to open this here: tel:1"
        )
    }

    @Test func `questions are asked in order of arrival, and a cancelled one is skipped`() async throws {
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
        var questions: [Task<Bool, Never>] = []
        for number in 1...6 {
            questions.append(Task { await asking.ask("\(number)", until: deadline) })
            while await asking.inFlight < number { await Task.yield() }
        }
        questions[2].cancel()
        #expect(await questions[2].value == false)
        _ = FileManager.default.createFile(atPath: "\(directory)/go", contents: nil)
        for index in [0, 1, 3, 4, 5] { #expect(await questions[index].value) }
        let asked = try String(contentsOfFile: "\(directory)/asked", encoding: .utf8)
        #expect(asked.split(separator: "\n") == ["1", "2", "4", "5", "6"])
        #expect(await asking.inFlight == 0)
    }
}
