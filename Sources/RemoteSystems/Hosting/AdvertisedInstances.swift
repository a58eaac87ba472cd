// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The instance names that a host advertises now. Two while a new name replaces the old one.
final class AdvertisedInstances: Sendable {
    private let names = Mutex<Set<String>>([])

    var all: Set<String> { self.names.withLock { $0 } }

    func insert(_ name: String) { self.names.withLock { _ = $0.insert(name) } }
    func remove(_ name: String) { self.names.withLock { _ = $0.remove(name) } }
}
