// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ValueSets

/// The state of an activity, and the rules for its changes. A value type without I/O or a clock.
struct UserActivityStateMachine: Sendable {
    /// Whether the activity is its application's current one.
    enum Phase: Sendable, Hashable {
        case idle, current, invalidated
    }

    /// What a change requires of the owner.
    enum Consequence: Sendable, Hashable {
        case nothing
        /// The offer ends.
        case withdraw
    }

    private(set) var phase = Phase.idle
    private(set) var userInfo: ValueSet = [:]
    /// Whether the application has changes that are not in ``userInfo`` yet.
    private(set) var needsSave = false
    /// The content before responders began to fill it in; `nil` at other times.
    private var contentBeforeSaving: ValueSet?
    /// The number of times that the application has said so.
    private(set) var changes: UInt64 = 0
    var attributes = ActivityAttributes()

    // MARK: Currency

    /// Begins to be the application's current activity.
    ///
    /// - Returns: `false` for an activity that was invalidated, which can never become current.
    mutating func becomeCurrent() -> Bool {
        guard self.phase != .invalidated else { return false }
        self.phase = .current
        return true
    }

    /// Stops being current: the application resigned it, another activity became current, or it was continued.
    mutating func resign() -> Consequence {
        guard self.phase == .current else { return .nothing }
        self.phase = .idle
        return .withdraw
    }

    mutating func invalidate() -> Consequence {
        defer { self.phase = .invalidated }
        return self.phase == .current ? .withdraw : .nothing
    }

    // MARK: Content

    mutating func set(userInfo: ValueSet) { self.userInfo = userInfo }

    /// Adds entries. Later ones replace those with the same key; others stay.
    mutating func add(_ entries: ValueSet) {
        self.userInfo.merge(entries) { $1 }
    }

    mutating func set(needsSave: Bool) {
        self.needsSave = needsSave
        if needsSave { self.changes += 1 }
    }

    /// Changes what is published or sent beside the content.
    ///
    /// - Returns: whether what is published is out of date.
    mutating func change(_ change: (inout ActivityAttributes) -> Void) -> Bool {
        let before = self.attributes
        change(&self.attributes)
        return self.attributes != before && self.phase == .current
    }

    /// Begins a round of saving: the flag is cleared, and stays cleared unless the application sets it again.
    ///
    /// - Parameter hasResponders: whether responders fill in the content. It is emptied then, once for all of them.
    /// - Returns: whether there is something to save.
    mutating func beginSaving(hasResponders: Bool = false) -> Bool {
        guard self.needsSave else { return false }
        self.needsSave = false
        guard hasResponders else { return true }
        self.contentBeforeSaving = self.userInfo
        self.userInfo = [:]
        return true
    }

    /// Ends a round of saving. One that was not completed in time leaves the content as it was before, and the next
    /// round begins again.
    mutating func endSaving(isComplete: Bool) {
        if !isComplete {
            self.needsSave = true
            if let content = self.contentBeforeSaving { self.userInfo = content }
        }
        self.contentBeforeSaving = nil
    }
}

/// The properties of an activity beside its content.
struct ActivityAttributes: Sendable, Hashable {
    var title: String?
    var webpageURL: URL?
    var referrerURL: URL?
    var supportsContinuationStreams = false
    var expirationDate: Date?
    var requiredUserInfoKeys: Set<String> = []
    var keywords: Set<String> = []
    var targetContentIdentifier: String?
    var persistentIdentifier: String?
    var payloadVersion: Int?
    var isEligibleForHandoff = true
    var isEligibleForSearch = false
    var isEligibleForPublicIndexing = false
    var isEligibleForPrediction = false
}
