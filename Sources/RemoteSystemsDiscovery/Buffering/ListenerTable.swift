// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Identifies a listener in a ``ListenerTable``.
package typealias ListenerID = UInt64

/// Registered listeners, in the order of their registration.
///
/// The table is part of its owner's state and protected as that is. The owner takes ``all`` or ``removeAll()`` under
/// its lock, and calls the listeners outside it. ``removeAll()`` serves listeners that are called at most once.
package struct ListenerTable<Listener> {
    private var listeners: [ListenerID: Listener] = [:]
    private var lastID: ListenerID = 0

    package init() {}

    package var isEmpty: Bool { self.listeners.isEmpty }
    package var count: Int { self.listeners.count }

    /// The listeners in the order of their registration.
    package var all: [Listener] {
        self.listeners.count < 2
            ? Array(self.listeners.values) : self.listeners.sorted { $0.key < $1.key }.map(\.value)
    }

    package subscript(id: ListenerID) -> Listener? { self.listeners[id] }

    /// Registers a listener.
    ///
    /// - Returns: the id to pass to ``remove(_:)``. The table never uses it again, and it is never 0.
    package mutating func add(_ listener: Listener) -> ListenerID {
        self.lastID += 1
        self.listeners[self.lastID] = listener
        return self.lastID
    }

    /// Removes a listener and returns it; `nil` if it is not registered any more.
    package mutating func remove(_ id: ListenerID) -> Listener? { self.listeners.removeValue(forKey: id) }

    /// Removes the listeners and returns them in the order of their registration.
    package mutating func removeAll() -> [Listener] {
        defer { self.listeners = [:] }
        return self.all
    }
}

extension ListenerTable: Sendable where Listener: Sendable {}
