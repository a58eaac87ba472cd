// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What the user permits systems and applications to show on this system.
struct NotificationPermissions {
    /// What a permission concerns: a system, an application, or an application of a system.
    struct Subject: Sendable, Hashable {
        /// The id of a system, or of a linked account for all its systems; `nil` for all.
        var system: String?
        /// The id of an application, which is only claimed; `nil` for all. Compared without regard to case, because the
        /// id of a mirrored program may be the name that the program gives itself.
        var application: String?

        /// One value for all spellings of the application.
        fileprivate var folded: Subject {
            Subject(system: self.system, application: self.application?.lowercased())
        }
    }

    /// The maximum number of permissions.
    static let max = 1024

    /// What a limit may be.
    static let perHour = 1...1000

    private struct Rule {
        /// In the spelling of the user.
        var subject: Subject
        var permission: NotificationPermission
        /// The maximum number of notifications an hour; `nil` for any.
        var perHour: Int?
    }

    /// By their folded subjects: one rule for all spellings.
    private var rules: [Subject: Rule] = [:]

    /// All permissions that differ from `allowed`, or have a limit.
    var all: [(subject: Subject, permission: NotificationPermission, perHour: Int?)] {
        self.rules.values.map { ($0.subject, $0.permission, $0.perHour) }
            .sorted { ($0.0.system ?? "", $0.0.application ?? "") < ($1.0.system ?? "", $1.0.application ?? "") }
    }

    /// The strictest permission that concerns a sender.
    func permission(of sender: NotificationSender) -> NotificationPermission {
        let found = self.rules(for: sender).map(\.permission)
        if found.contains(.denied) { return .denied }
        return found.contains(.silent) ? .silent : .allowed
    }

    /// The limits that concern a sender. Each counts the notifications of its own subject.
    func limits(of sender: NotificationSender) -> [Subject: Int] {
        var limits: [Subject: Int] = [:]
        for rule in self.rules(for: sender) { limits[rule.subject] = rule.perHour }
        return limits
    }

    /// The rules that concern a sender; one of them perhaps twice.
    private func rules(for sender: NotificationSender) -> [Rule] {
        [sender.systemID, sender.linkedAccountID, nil].flatMap { system in
            [sender.application, nil].compactMap { application in
                self.rules[Subject(system: system, application: application).folded]
            }
        }
    }

    /// - Parameter perHour: the maximum number of notifications an hour. Defaults to `nil`: any.
    /// - Throws: ``NotificationError`` with `limitExceeded`.
    mutating func set(
        _ permission: NotificationPermission,
        perHour: Int? = nil,
        for subject: Subject
    ) throws(NotificationError) {
        if let perHour, !Self.perHour.contains(perHour) {
            throw NotificationError(
                .limitExceeded,
                "A limit is from \(Self.perHour.lowerBound) to \(Self.perHour.upperBound) notifications an hour.",
                field: "PerHour"
            )
        }
        guard permission != .allowed || perHour != nil else {
            self.rules[subject.folded] = nil
            return
        }
        guard self.rules[subject.folded] != nil || self.rules.count < Self.max else {
            throw NotificationError(
                .limitExceeded,
                "There are \(Self.max) permissions. Allow some of them again first."
            )
        }
        self.rules[subject.folded] = Rule(subject: subject, permission: permission, perHour: perHour)
    }

    /// The subject of the rule that ``set(_:perHour:for:)`` replaces, in its spelling; `nil` if there is none.
    func subject(replacedBy subject: Subject) -> Subject? { self.rules[subject.folded]?.subject }
}
