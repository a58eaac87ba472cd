// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Starts the service extensions of this system's applications.
package protocol ServiceExtensionPrograms: Sendable {
    /// Whether an application is installed and has an extension. Asked for each notification that may be changed.
    func hasExtension(_ application: String) -> Bool
    /// Starts the extension of an application.
    ///
    /// - Returns: `nil` if the application has none, or is not installed.
    /// - Throws: ``NotificationError`` that says why it does not start.
    func start(_ application: String) async throws(NotificationError) -> (any ServiceExtensionProgram)?
    /// Ends the extensions that run. Others are not started any more.
    func stop() async
}

/// What a service extension has written.
package enum ServiceExtensionOutput: Sendable, Hashable {
    /// The first line.
    case line(String)
    /// The program has ended, or has closed its output, before it had written anything.
    case ended
    /// The line is longer than ``ServiceExtensionMessage/maxBytes``.
    case tooLong
}

/// A service extension that runs, with bounded memory.
package protocol ServiceExtensionProgram: Sendable {
    /// Sends a line to the program. It does not wait: a program that does not read gets nothing.
    func send(_ line: String)
    /// Waits for the first line of the program.
    func output() async -> ServiceExtensionOutput
    /// Ends the program, with everything that it has started, and removes its files. Further calls wait for the first.
    ///
    /// - Returns: How it ended, as a clause.
    @discardableResult
    func end() async -> String
}
