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
        var permission: NotificationPermission
        /// The maximum number of notifications an hour; `nil` for any.
        var perHour: Int?
    }

    private var rules: [Subject: Rule] = [:]
    /// The subjects of the rules in all their spellings.
    private var spellings: [Subject: Set<Subject>] = [:]

    /// All permissions that differ from `allowed`, or have a limit.
    var all: [(subject: Subject, permission: NotificationPermission, perHour: Int?)] {
        self.rules.map { ($0.key, $0.value.permission, $0.value.perHour) }
            .sorted { ($0.0.system ?? "", $0.0.application ?? "") < ($1.0.system ?? "", $1.0.application ?? "") }
    }

    /// The strictest permission that concerns a sender.
    func permission(of sender: NotificationSender) -> NotificationPermission {
        let found = self.subjects(of: sender).compactMap { self.rules[$0]?.permission }
        if found.contains(.denied) { return .denied }
        return found.contains(.silent) ? .silent : .allowed
    }

    /// The limits that concern a sender. Each counts the notifications of its own subject.
    func limits(of sender: NotificationSender) -> [Subject: Int] {
        var limits: [Subject: Int] = [:]
        for subject in self.subjects(of: sender) { limits[subject] = self.rules[subject]?.perHour }
        return limits
    }

    /// The subjects of the rules that concern a sender.
    private func subjects(of sender: NotificationSender) -> Set<Subject> {
        var subjects: Set<Subject> = []
        for system in [sender.systemID, sender.linkedAccountID, nil] {
            for application in [sender.application, nil] {
                subjects.formUnion(self.spellings[Subject(system: system, application: application).folded] ?? [])
            }
        }
        return subjects
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
        let former = self.subjects(spelledLike: subject)
        let isDefault = permission == .allowed && perHour == nil
        guard isDefault || !former.isEmpty || self.rules.count < Self.max else {
            throw NotificationError(
                .limitExceeded,
                "There are \(Self.max) permissions. Allow some of them again first."
            )
        }
        for spelling in former { self.rules[spelling] = nil }
        self.spellings[subject.folded] = isDefault ? nil : [subject]
        if !isDefault { self.rules[subject] = Rule(permission: permission, perHour: perHour) }
    }

    /// The subjects of rules that ``set(_:perHour:for:)`` replaces: this one, in all spellings of the application.
    func subjects(spelledLike subject: Subject) -> Set<Subject> { self.spellings[subject.folded] ?? [] }
}
