// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// The activities that are being continued here, and are shown because that takes long.
struct ContinuationNotices {
    private struct Continuation {
        var title: String
        var isLong = false
    }

    /// The maximum number of activities that are shown at the same time.
    static let max = 4

    private var continuations: [Int: Continuation] = [:]
    private var last = 0

    /// A continuation begins. It is not shown yet.
    ///
    /// - Returns: its number.
    mutating func begin(_ title: String) -> Int {
        self.last += 1
        self.continuations[self.last] = Continuation(title: DesktopNotification.line(title))
        return self.last
    }

    /// A continuation takes long, unless it has ended.
    ///
    /// - Returns: whether something else is to be shown now.
    mutating func takesLong(_ number: Int) -> Bool {
        guard self.continuations[number] != nil else { return false }
        self.continuations[number]?.isLong = true
        return true
    }

    /// A continuation has ended.
    ///
    /// - Returns: whether something else is to be shown now.
    mutating func end(_ number: Int) -> Bool { self.continuations.removeValue(forKey: number)?.isLong == true }

    /// What the server is to show. If the daemon is killed, they end with the time of the server.
    ///
    /// - Parameter isLocked: whether everyone who passes by can read it. Nothing is shown then.
    func notifications(isLocked: Bool) -> [DesktopNotification] {
        guard !isLocked else { return [] }
        return self.continuations.filter { $0.value.isLong }.sorted { $0.key < $1.key }.prefix(Self.max).map {
            DesktopNotification(
                key: "continuing \($0.key)",
                summary: "Continuing \($0.value.title.quoted) …",
                isResident: false
            )
        }
    }
}
