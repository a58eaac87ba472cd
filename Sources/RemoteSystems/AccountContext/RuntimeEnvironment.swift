// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity
package import RemoteSystemsTransport

/// What a process has around it: a network, a clock, an identity and a machine. The real ones, unless a test puts its
/// own in their place.
package struct RuntimeEnvironment: Sendable {
    /// How connections come about, and what time it is.
    package var network = TransportNetwork.sockets
    /// An identity that is kept in memory; `nil` for the one in the account's directory.
    package var identity: (@Sendable () throws -> SystemIdentity)?
    /// Where hosts claim their application ids; `nil` for the files of the account's directory.
    package var applicationClaims: (any ApplicationClaims)?
    /// What the machine says of itself; `nil` for what this one says.
    package var facts: MachineFacts?

    package init() {}

    /// Whether nothing of it was put in place of the real one.
    var isReal: Bool {
        self.network.isOfSockets && self.identity == nil && self.applicationClaims == nil && self.facts == nil
    }

    var time: TimeSource { self.network.time }

    /// Where tasks run that the library starts by itself; `nil` for where all tasks do.
    var taskExecutor: (any TaskExecutor)? { self.network.taskExecutor }
}
