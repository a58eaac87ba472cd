// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The instance names under which a host is announced now: two while one follows the other.
final class AdvertisedInstances: Sendable {
    private let names = Mutex<Set<String>>([])

    var all: Set<String> { self.names.withLock { $0 } }

    func insert(_ name: String) { self.names.withLock { _ = $0.insert(name) } }
    func remove(_ name: String) { self.names.withLock { _ = $0.remove(name) } }
}
