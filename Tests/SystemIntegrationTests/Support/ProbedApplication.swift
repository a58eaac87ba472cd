// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

/// A running `activity-probe`, and the steps that it has recorded.
struct ProbedApplication {
    let file: String
    var process: ChildProcess?

    var steps: [String] {
        ((try? String(contentsOfFile: self.file, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    /// Waits until the application has recorded a step.
    func reached(_ step: String) async throws {
        do {
            _ = try await eventually("the step '\(step)'", within: .seconds(60), every: .milliseconds(20)) {
                self.steps.contains { $0.hasPrefix(step) } ? true : nil
            }
        } catch {
            throw IntegrationError("\(error); recorded: \(self.steps)")
        }
    }

    /// Waits until the command that lets this application continue an activity has failed. What the application waits
    /// for is reported if it does not fail.
    func letsFail(_ command: ChildProcess) async throws {
        do {
            let code = try await eventually("the end of the command", within: .seconds(60)) { command.exitCode }
            #expect(code == 2, "\(command.lines)")
        } catch {
            Issue.record(
                """
                \(error); recorded: \(self.steps)
                The command: \(await command.lastWords())
                The application: \(await self.process?.lastWords() ?? "")
                """
            )
        }
    }

    /// Lets an application go on that waits at a step.
    func release() { _ = FileManager.default.createFile(atPath: "\(self.file).go", contents: nil) }

    func kill() {
        if let process { Glibc.kill(process.id, SIGKILL) }
    }
}
