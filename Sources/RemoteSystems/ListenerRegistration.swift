// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A registered listener, of a ``RemoteSystemWatcher`` or an ``AppServiceConnection``.
///
/// It need not be kept: the listener stays registered until it is cancelled, or what it listens to is gone.
public struct ListenerRegistration: Sendable {
    private let remove: @Sendable () -> Void

    init(_ remove: @escaping @Sendable () -> Void) { self.remove = remove }

    /// Calls the listener no more, from when this returns on except for a call that is already under way.
    public func cancel() { self.remove() }
}
