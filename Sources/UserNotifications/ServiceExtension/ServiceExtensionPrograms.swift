// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Starts the service extensions of this system's applications.
package protocol ServiceExtensionPrograms: Sendable {
    /// Starts the extension of an application.
    ///
    /// - Returns: `nil` if the application has none, or is not installed.
    /// - Throws: ``NotificationError`` that says why it does not start.
    func start(_ application: String) async throws(NotificationError) -> (any ServiceExtensionProgram)?
}

/// A service extension that runs, with bounded memory.
package protocol ServiceExtensionProgram: Sendable {
    /// Sends a line to the program. It does not wait: a program that does not read gets nothing.
    func send(_ line: String)
    /// Waits for the first line of the program.
    ///
    /// - Returns: `nil` if it has ended, or writes a line that is longer than ``ServiceExtensionMessage/maxBytes``.
    func response() async -> String?
    /// Ends the program, with everything that it has started, and removes its files.
    ///
    /// - Returns: How it ended, as a clause.
    @discardableResult
    func end() async -> String
}
