// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A registered listener of a ``RemoteSystemWatcher`` or an ``AppServiceConnection``.
///
/// The listener stays registered until ``cancel()`` or until its watcher or connection is deallocated, even when this
/// value is discarded.
public struct ListenerRegistration: Sendable {
    private let remove: @Sendable () -> Void

    init(_ remove: @escaping @Sendable () -> Void) { self.remove = remove }

    /// Removes the listener.
    ///
    /// A call that is already in progress may finish after this method returns. No further call starts.
    public func cancel() { self.remove() }
}
