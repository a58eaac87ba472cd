// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

/// The errors of searches.
extension SystemFinder {
    private var waited: String {
        let seconds = self.wait / .seconds(1)
        return seconds == seconds.rounded() ? "\(Int(seconds)) s" : "\(seconds) s"
    }

    /// Whether a text is the name, or the beginning of the id, of a system of the account that was not found.
    private func knows(_ text: String, _ search: NameSearch?) -> Bool {
        guard !self.anyoneNearby else { return false }
        let systems = (try? RemoteSystemsAccount(self.configuration).systems()) ?? []
        return systems.contains { system in
            guard !system.isLocal, !system.isRevoked else { return false }
            // It may have been seen under a new name.
            return (search?.name(of: system.id) ?? system.name) == text
                || text.count >= NameSearch.minPrefix && "\(system.id)".hasPrefix(text)
        }
    }

    /// What to know if the system that was not found is one of a linked account; empty if no account is linked.
    private var linkedAdvice: String {
        guard !self.anyoneNearby, self.text != nil,
            !RemoteSystemsAccount(self.configuration).activeLinks.isEmpty
        else { return "" }
        return " A system of a linked account cannot be named here, because only programs use the links: "
            + "'remotesystems list --filter authorization=linked' lists such systems."
    }

    /// What to know if the text is the beginning of an id, and too short; empty if it is not.
    private var shortAdvice: String {
        guard let text, text.count < NameSearch.minPrefix else { return "" }
        let systems = (try? RemoteSystemsAccount(self.configuration).systems()) ?? []
        guard systems.contains(where: { "\($0.id)".hasPrefix(text) }) else { return "" }
        return " The beginning of an id has at least \(NameSearch.minPrefix) characters."
    }

    /// Returns the error when no system matches.
    ///
    /// - Parameter search: What was found instead.
    func notFound(_ reason: DiagnosisFinding?, _ search: NameSearch?) -> Failure {
        let name = self.text.map { " called \($0)" } ?? ""
        if !self.anyoneNearby, let loss = LostMembership(of: RemoteSystemsAccount(self.configuration)) {
            var failure = Failure(
                "unreachable",
                "No system\(name) of this account was found in \(self.waited). \(loss.text)"
            )
            failure.reason = loss.reason
            return failure
        }
        if let search, let id = search.remembered, let present = search.name(of: id) {
            let prefix = SystemID.distinctPrefixes(of: search.systems)[id] ?? id.short
            return Failure(
                "unreachable",
                "No system\(name) was found in \(self.waited). The system \(prefix), which had this name, is now "
                    + "called \(present.quoted). Use its new name, or its id."
            )
        }
        let others = search?.names ?? []
        if let text, self.knows(text, search) {
            let cause =
                if let reason, others.isEmpty {
                    " \(reason.what)" + (reason.advice.map { " \($0)" } ?? "")
                } else {
                    " '\(self.program.rawValue)' must be running on it, on the same network."
                }
            return Failure(
                "unreachable",
                "The system \(text) is off or not reachable: it was not found in \(self.waited).\(cause)"
                    + (self.whenAway.map { " \($0)" } ?? ""),
                canRetry: true
            )
        }
        if let text, !others.isEmpty {
            let account = self.anyoneNearby ? "of another account" : "of this account"
            return Failure(
                "unreachable",
                "No system\(name) \(account) was found in \(self.waited)."
                    + SimilarNames.question(for: text, among: others)
                    + " Found instead: \(NameList.text(others.map(\.quoted))). 'remotesystems list' shows all systems."
                    + self.shortAdvice + self.linkedAdvice,
                canRetry: true
            )
        }
        guard !self.anyoneNearby else {
            return Failure(
                "unreachable",
                "No system\(name) of another account that accepts callers of other accounts was found in "
                    + "\(self.waited). Run 'remotesystems serve --anyone-nearby' on it, on the same network.",
                canRetry: true
            )
        }
        if let reason {
            return Failure(
                "unreachable",
                "No system\(name) of this account was found in \(self.waited). \(reason.what)"
                    + (reason.advice.map { " \($0)" } ?? "") + self.shortAdvice + self.linkedAdvice,
                canRetry: true
            )
        }
        return Failure(
            "unreachable",
            "No system\(name) of this account was found in \(self.waited). Check that '\(self.program.rawValue)' "
                + "is running on it, on the same network and in the same account. 'remotesystems doctor' looks for "
                + "causes on this machine.\(self.shortAdvice)\(self.linkedAdvice)",
            canRetry: true
        )
    }
}

extension Failure {
    /// The error when a name or the beginning of an id matches several systems.
    static func ambiguous(_ systems: [SystemID], among search: NameSearch) -> Failure {
        let prefixes = SystemID.distinctPrefixes(of: search.systems + systems)
        let ids = NameList.text(systems.map { prefixes[$0] ?? $0.description })
        var failure = Failure(
            "misuse",
            "\(systems.count) systems match '\(search.text)'. Name one by its id: \(ids)."
        )
        failure.reason = "ambiguousName"
        failure.systemIDs = systems
        return failure
    }

    /// The error when another system has a name than the one that the name meant before.
    static func changed(from id: SystemID, isRevoked: Bool, to others: [SystemID], _ search: NameSearch) -> Failure {
        let prefixes = SystemID.distinctPrefixes(of: search.systems + others + [id])
        func short(_ id: SystemID) -> String { prefixes[id] ?? id.description }
        let state =
            if isRevoked {
                ", which was revoked"
            } else if let name = search.name(of: id) {
                name == search.text ? "" : ", which is now called \(name.quoted)"
            } else {
                ", which was not found"
            }
        let new = NameList.text(others.map(short))
        var failure = Failure(
            "misuse",
            "'\(search.text)' meant the system \(short(id)) so far\(state). Now it "
                + (others.count == 1 ? "leads to the system \(new)" : "leads to the systems \(new)")
                + ". Any system of the account can take this name. If the change is right, repeat the command with "
                + "--accept-name; else name the system by its id."
        )
        failure.reason = "nameChanged"
        failure.systemIDs = [id] + others
        return failure
    }
}
