// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What the program of an extension has written.
package enum ExtensionOutput: Sendable, Hashable {
    case line(String)
    /// A line is longer than ``ServiceExtensionMessage/maxBytes``, or too many lines came at once. The last output.
    case tooLong
}

/// The program of an extension that runs, with bounded memory.
package protocol ExtensionProgram: Sendable {
    /// Sends a line to the program. It does not wait: a program that does not read gets nothing.
    func send(_ line: String)
    /// Creates a directory inside that of the program, for files that the caller copies for it.
    ///
    /// - Parameter byteCount: the size of these files, which does not count against the limit of the program.
    /// - Throws: ``NotificationError`` if it cannot be created.
    func makeRoom(for byteCount: Int64) async throws(NotificationError) -> String
    /// What the program writes, for one reader. Ends when the program ends or closes its output.
    var outputs: AsyncStream<ExtensionOutput> { get }
    /// Ends the program, with everything that it has started, and removes its files. Further calls wait for the first.
    ///
    /// - Returns: How it ended, as a clause.
    @discardableResult
    func end() async -> String
}
