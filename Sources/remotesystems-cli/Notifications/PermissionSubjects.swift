// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

/// The systems of the account and the linked accounts, whose notifications the user permits.
struct PermissionSubjects: Sendable {
    private let systems: [AccountSystem]
    private let accounts: [String]

    init(_ account: RemoteSystemsAccount) throws {
        self.systems = try account.systems().filter { !$0.isRevoked }
        self.accounts = try account.links().map { "\($0.account)" }
    }

    private var ids: [String] { self.systems.map { "\($0.id)" } + self.accounts }

    func contains(_ id: String) -> Bool { self.ids.contains(id) }

    /// The name of a system; `nil` if it is not known.
    func name(of id: String) -> String? { self.systems.first { "\($0.id)" == id }?.name }

    /// The id, and the name in parentheses.
    func description(of id: String) -> String { self.name(of: id).map { "\(id) (\($0.quoted))" } ?? id }

    /// The whole id of the system or of the linked account that is meant.
    ///
    /// - Parameters:
    ///   - text: A whole id, the beginning of one, or the name of a system.
    ///   - mustBeKnown: Whether a text that means none is an error. Otherwise it is returned: what is stored for it
    ///     can be removed.
    func id(_ text: String, mustBeKnown: Bool) throws(Failure) -> String {
        guard SystemID(text) == nil, AccountID(text) == nil else { return text }
        var matches = Set(self.systems.filter { $0.name == text }.map { "\($0.id)" })
        if text.count >= NotificationID.minimum { matches.formUnion(self.ids.filter { $0.hasPrefix(text) }) }
        guard matches.count <= 1 else {
            var failure = Failure(
                "misuse",
                "\(matches.count) systems and linked accounts match '\(text)'. Name one by its id: "
                    + "\(NameList.text(matches.sorted()))."
            )
            failure.reason = "ambiguousName"
            throw failure
        }
        if let match = matches.first { return match }
        guard mustBeKnown else { return text }
        throw Failure(
            "misuse",
            "No system of the account is called '\(text)', and the id of none, and of no linked account, begins with "
                + "it.\(NotificationID.hint(for: text)) 'remotesystems account systems' lists the systems."
        )
    }
}
