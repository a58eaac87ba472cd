// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The result of an attempt to connect: a connection for messages, or a stream.
protocol OpenedConnection: Sendable {
    /// Ends the connection, because its caller no longer waits for it.
    func leave()
    /// Closes the connection at once, because another attempt has succeeded.
    func discard()
}

extension Connection: OpenedConnection {
    func discard() { self.abort() }
}

extension ByteStream: OpenedConnection {
    func leave() { self.abort() }
    func discard() { self.abort() }
}
