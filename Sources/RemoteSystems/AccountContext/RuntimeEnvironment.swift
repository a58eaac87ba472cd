// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity
package import RemoteSystemsTransport

/// The process's environment: network, clock, identity and machine. Tests replace the real ones.
package struct RuntimeEnvironment: Sendable {
    /// Opens and accepts connections, and provides the clock.
    package var network = TransportNetwork.sockets
    /// A closure that returns an identity held only in memory; `nil` for the identity in the account's directory.
    package var identity: (@Sendable () throws -> SystemIdentity)?
    /// A closure that returns the links of an identity that is held only in memory; `nil` for none.
    package var links: (@Sendable () throws -> [AccountLink])?
    /// The assignment of application ids to hosts; `nil` for the lock files of the account's directory.
    package var applicationClaims: (any ApplicationClaims)?
    /// The properties of the machine; `nil` for those of the real one.
    package var facts: MachineFacts?

    package init() {}

    /// Whether no part of the environment was replaced.
    var isReal: Bool {
        self.network.isOfSockets && self.identity == nil && self.applicationClaims == nil && self.facts == nil
    }

    package var time: TimeSource { self.network.time }

    /// The executor of tasks that the library starts; `nil` for the default one.
    package var taskExecutor: (any TaskExecutor)? { self.network.taskExecutor }
}
