// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring

/// A contestant whose hosts can be discovered without an address.
protocol DiscoveringContestant: Contestant {
    /// Starts a host that announces itself on the loopback interface. Returns before the host is ready.
    ///
    /// The host stops when the returned handle is stopped.
    func startHost(_ setup: Setup) async throws -> any Stoppable

    /// Starts a watcher on the loopback interface that calls `added` for each system it adds.
    func startWatcher(_ setup: Setup, added: @escaping @Sendable () -> Void) async throws -> any Stoppable
}

/// A running host or watcher that can be stopped.
protocol Stoppable: Sendable {
    func stop() async throws
}
