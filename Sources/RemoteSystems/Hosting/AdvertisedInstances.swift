// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The instance names under which a host can be found now. Two while a new name replaces the old one.
final class AdvertisedInstances: Sendable {
    private let names = Mutex<(own: Set<String>, daemon: Set<String>)>(([], []))

    /// The names that the host advertises itself, and the names of the host daemon that advertises the machine for it.
    var all: Set<String> { self.names.withLock { $0.own.union($0.daemon) } }

    func insert(_ name: String) { self.names.withLock { _ = $0.own.insert(name) } }
    func remove(_ name: String) { self.names.withLock { _ = $0.own.remove(name) } }

    /// Replaces the names of the host daemon.
    func represented(by names: Set<String>) { self.names.withLock { $0.daemon = names } }
}
