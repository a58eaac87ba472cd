// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What an attempt to connect makes: a connection for messages, or a stream.
protocol OpenedConnection: Sendable {
    /// Gives it up, since nobody waits for it any more.
    func leave()
}

extension Connection: OpenedConnection {}

extension ByteStream: OpenedConnection {
    func leave() { self.abort() }
}
