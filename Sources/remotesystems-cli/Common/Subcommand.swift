// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A subcommand. The extension reports its errors and sets the exit status.
protocol Subcommand: AsyncParsableCommand {
    var common: CommonOptions { get }

    /// Runs the subcommand.
    ///
    /// - Returns: Whether the result is positive. `false` leads to exit status 1.
    func perform(_ output: Output) async throws -> Bool
}

extension Subcommand {
    func run() async throws {
        let output = self.common.output
        let isYes: Bool
        do {
            isYes = try await self.perform(output)
        } catch let error as OutputError {
            if let message = error.message { output.complain(message) }
            throw ExitCode(Failure.usualExitStatus)
        } catch {
            let failure = Failure(error)
            try? failure.report(output)
            throw ExitCode(failure.exitStatus)
        }
        if !isYes { throw ExitCode(1) }
    }
}
