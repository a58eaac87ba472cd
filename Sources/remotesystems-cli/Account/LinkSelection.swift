// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The argument that names a linked account.
struct LinkSelection: ParsableArguments {
    @Argument(help: "The linked account: its id, at least the first four characters of it, or its name.")
    var account: String

    /// Returns the one link in force that the argument identifies, to change it.
    ///
    /// - Throws: ``Failure`` if no link or more than one fits; ``IdentityError/Code/notAuthority`` on a machine that
    ///   cannot change links, which may not have received the newest ones either.
    func choose(from account: RemoteSystemsAccount) throws -> AccountLink {
        guard try !account.isMember() else { throw IdentityError.notAuthority }
        return try account.link(named: self.account)
    }
}

extension RemoteSystemsAccount {
    /// Returns the one link in force with the account that a text identifies: its id, at least the first four
    /// characters of it, or its name.
    ///
    /// - Throws: ``Failure`` if no link or more than one fits.
    func link(named text: String) throws -> AccountLink {
        let named = try self.links().filter {
            $0.name == text || (text.count >= 4 && $0.account.description.hasPrefix(text))
        }
        let fitting = named.filter { $0.state != .withdrawn }
        guard let only = fitting.first else {
            if let withdrawn = named.first {
                throw Failure(
                    "misuse",
                    "The link with \(withdrawn.name.quoted) (\(withdrawn.account.short)) was withdrawn already. "
                        + "Nothing was changed. 'remotesystems pair --link' links the accounts again."
                )
            }
            throw Failure(
                "misuse",
                "No linked account is known as \(text.printable). 'remotesystems account links' lists them."
            )
        }
        guard fitting.count == 1 else {
            throw Failure(
                "misuse",
                "\(text.printable) fits \(fitting.count) linked accounts: "
                    + "\(fitting.map(\.account.short).joined(separator: ", ")). Give more characters of the id."
            )
        }
        return only
    }
}

extension RemoteSystemsAccount {
    /// The links in force. None if they cannot be read, which does not keep the machine from joining another account.
    var activeLinks: [AccountLink] { ((try? self.links()) ?? []).filter { $0.state == .active } }

    /// Returns those of the links that this machine does not have any more.
    func ended(of links: [AccountLink]) -> [AccountLink] {
        let present = Set(self.activeLinks.map(\.account))
        return links.filter { !present.contains($0.account) }
    }
}

/// A linked account, in the output of `account links`, `account grant` and `account unlink` with `--json`.
struct LinkOutput: Encodable {
    struct Rights: Encodable {
        var services: [String]
        var schemes: [String]
        var topics: [String]
        var end: Date?

        init(_ grants: Grants) {
            self.services = grants.services.sorted()
            self.schemes = grants.uriSchemes.sorted()
            self.topics = grants.topics.sorted()
            self.end = grants.end
        }
    }

    var event: String
    var accountID: AccountID
    var name: String
    var state: String
    var created: Date
    var granted: Rights
    var received: Rights

    init(event: String = "link", _ link: AccountLink) {
        self.event = event
        self.accountID = link.account
        self.name = link.name
        self.state = link.state.rawValue
        self.created = link.created
        self.granted = Rights(link.granted)
        self.received = Rights(link.received)
    }
}

extension AccountLink {
    /// The link in lines of text. A withdrawn one grants nothing, whatever it granted before.
    var lines: [String] {
        let state =
            switch self.state {
            case .active: "active"
            case .withdrawn: "withdrawn by this account"
            case .withdrawnByOther: "withdrawn by the other account: nothing is granted"
            }
        var lines = [
            "account      \(self.account)",
            "name         \(self.name.printable)",
            "state        \(state), linked \(self.created.formatted(.iso8601))",
        ]
        if self.state == .active {
            lines += [
                "granted      \(self.granted.text)",
                "received     \(self.received.text) (as stated when it was linked)",
            ]
        }
        return lines
    }
}

extension Grants {
    /// The rights in words.
    var text: String {
        var parts: [String] = []
        for (what, names) in [("services", self.services), ("schemes", self.uriSchemes), ("topics", self.topics)]
        where !names.isEmpty {
            parts.append("\(what) \(names.sorted().map(\.printable).joined(separator: ", "))")
        }
        guard !parts.isEmpty else { return "nothing" }
        if let end {
            parts.append(end <= .now ? "ended \(end.formatted(.iso8601))" : "until \(end.formatted(.iso8601))")
        }
        return parts.joined(separator: "; ")
    }
}
