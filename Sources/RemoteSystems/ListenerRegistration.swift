// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The registration of a callback with a watcher, a connection or a host.
///
/// The callback stays registered until ``cancel()`` or until its watcher, connection or host is deallocated, even when
/// this value is discarded.
public struct ListenerRegistration: Sendable {
    private let remove: @Sendable () -> Void

    init(_ remove: @escaping @Sendable () -> Void) { self.remove = remove }

    /// Removes the callback. Cancelling twice has no effect.
    ///
    /// A call that is already in progress may finish after this method returns. No further call starts.
    public func cancel() { self.remove() }
}
