// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// The limits of a browser for what other machines cause, beside the maximum number of instances
/// (``SystemBrowserStateMachine/maxInstances``).
enum BrowserLimits {
    /// The maximum number of hints that have never led to a system. The other places are for systems that were
    /// authenticated, and for configured peers.
    static let unprovedHints = 2048
    /// The maximum number of such hints for one machine (``PeerKey``), but for this one.
    static let unprovedHintsOfMachine = 64

    /// The maximum number of hints that have never led to a system, at the machine of these endpoints. Only programs of
    /// this machine can advertise loopback endpoints.
    static func hints(of endpoints: [Endpoint]) -> Int {
        endpoints.first?.isLoopback ?? false ? Self.unprovedHints : Self.unprovedHintsOfMachine
    }

    /// The maximum number of endpoints that an attempt for an announced hint tries.
    static let endpointsOfHint = 8
    /// The maximum number of hints that are kept because the machine may join the network of their addresses.
    static let distantHints = 256
    /// The maximum number of presence connections to processes of one system.
    static let processes = 64
    /// The maximum number of names under which a process is connected at the same time. A process has two for a moment
    /// when it changes its name.
    static let namesOfProcess = 3

    /// The maximum number of processes of known systems that are tried repeatedly while discovery misses systems.
    static let recalls = 64
    /// The referrals of one system that are followed at once.
    static let referrals = 64.0
    /// The further referrals of one system that are followed in a second.
    static let referralRate = 2.0
}
