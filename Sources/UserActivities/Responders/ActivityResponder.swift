// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// An object that keeps its part of an activity's content current, such as a view or a document.
///
/// Several responders can share one activity (``UserActivity/addResponder(_:)``). When another system continues the
/// activity, the content is emptied, and each responder adds its entries, in the order in which they were added.
///
/// ```swift
/// final class TextView: ActivityResponder {
///     func updateUserActivityState(_ activity: UserActivity) async {
///         activity.addUserInfoEntries(["Caret": .integer(await self.caret)])
///     }
///     func restoreUserActivityState(_ activity: UserActivity) async {
///         await self.moveCaret(to: activity.userInfo["Caret"]?.int ?? 0)
///     }
/// }
/// ```
public protocol ActivityResponder: ActivityRestoring, AnyObject {
    /// Adds the responder's entries to the activity. Called if ``UserActivity/needsSave`` was set.
    ///
    /// Use ``UserActivity/addUserInfoEntries(_:)``: other responders add to the same content.
    func updateUserActivityState(_ activity: UserActivity) async
}

/// The responders of an activity, which does not keep them alive.
struct ResponderList {
    private struct Entry {
        weak var responder: (any ActivityResponder)?
    }

    private var entries: [Entry] = []
    /// Whether there ever was a responder: the activity then ends with the last one.
    private(set) var isManaging = false

    /// The responders that are still alive, in the order in which they were added.
    var all: [any ActivityResponder] { self.entries.compactMap(\.responder) }

    /// Whether the last responder was removed or released.
    var hasEnded: Bool { self.isManaging && self.entries.allSatisfy { $0.responder == nil } }

    /// Adds a responder behind the others. Has no effect if it is there.
    mutating func add(_ responder: any ActivityResponder) {
        self.entries.removeAll { $0.responder == nil }
        self.isManaging = true
        guard !self.entries.contains(where: { $0.responder === responder }) else { return }
        self.entries.append(Entry(responder: responder))
    }

    mutating func remove(_ responder: any ActivityResponder) {
        self.entries.removeAll { $0.responder == nil || $0.responder === responder }
    }
}
