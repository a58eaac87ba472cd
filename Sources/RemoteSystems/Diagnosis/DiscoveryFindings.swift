// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport

/// Findings about the advertisements that this machine sees.
struct DiscoveryFindings: Sendable {
    /// The number of systems that respond, including this one.
    var listed = 0
    var hasOthers = false
    var unlisted: RemoteSystemWatcher.Unlisted
    var network: RemoteSystemsConfiguration.Network
    /// Whether this account is linked with another one.
    var hasLinks = false

    /// Counts advertisements where there is no account: all of them belong to other accounts.
    init(_ advertisements: [DiscoveryHint], network: RemoteSystemsConfiguration.Network) {
        self.network = network
        self.unlisted = RemoteSystemWatcher.Unlisted()
        for hint in advertisements {
            let version = hint.properties[Presence.versionProperty] ?? []
            if version.elementsEqual(Presence.version.utf8) {
                self.unlisted.otherAccounts += 1
            } else {
                self.unlisted.otherVersions += 1
            }
        }
    }

    init(
        listed: Int = 0,
        hasOthers: Bool = false,
        unlisted: RemoteSystemWatcher.Unlisted,
        network: RemoteSystemsConfiguration.Network,
        hasLinks: Bool = false
    ) {
        self.network = network
        self.hasLinks = hasLinks
        self.listed = listed
        self.hasOthers = hasOthers
        self.unlisted = unlisted
    }

    var all: [DiagnosisFinding] { [self.systems, self.otherAccounts] + (self.otherVersions.map { [$0] } ?? []) }

    /// The advice when one side does not trust the other; `nil` if the message states the remedy, which other advice
    /// would contradict.
    ///
    /// - Parameter failureCode: the failure code of the connection; `nil` if it has none.
    static func trustAdvice(_ failureCode: String?) -> String? {
        switch failureCode.flatMap({ FailureCode(rawValue: $0) }) {
        case .certificateExpired?, .certificateNotYetValid?: nil
        case .certificateInvalid?:
            "If the message names no remedy, check which program listens there. If it is your machine, let it join the "
                + "account again."
        case .linkWithdrawn?, .grantsChanged?:
            "'remotesystems account links' shows the links of this account. If one was withdrawn by mistake, link the "
                + "accounts again: 'remotesystems pair --link' on both machines."
        default:
            "A system that was revoked returns with 'remotesystems account leave' there, 'remotesystems account "
                + "invite' on the machine with the root key, and 'remotesystems account join'. Otherwise check that "
                + "both systems belong to the same account ('remotesystems account show' on both), and that their "
                + "certificates and clocks are valid ('remotesystems doctor' on both)."
        }
    }

    /// A peer that responds but is not trusted, or does not trust this system. More precise than a missing response.
    var authentication: DiagnosisFinding? {
        guard let error = self.unlisted.errors.first(where: { $0.code == .authenticationError }) else { return nil }
        let isOfLink =
            switch error.failureCode.flatMap({ FailureCode(rawValue: $0) }) {
            case .linkWithdrawn?, .grantsChanged?: true
            default: false
            }
        return DiagnosisFinding(
            .systems,
            .problem,
            "A program is announced as one of \(isOfLink ? "a linked" : "this") account. \(error.message)",
            why: isOfLink
                ? "Systems of another account are listed only while the accounts are linked."
                : "Only systems that prove that they belong to the account are listed.",
            advice: Self.trustAdvice(error.failureCode)
        )
    }

    /// A peer that responds and refuses the connection. The network works, and the refusal contains the reason.
    var refused: DiagnosisFinding? {
        guard let (place, text) = self.unlisted.refusals.min(by: { $0.key < $1.key }) else { return nil }
        let others = self.unlisted.refusals.count - 1
        return DiagnosisFinding(
            .systems,
            .warning,
            "The program of this account at \(place) answers and refuses: \(text)"
                + (others > 0 ? " (\(others.of("other program")) \(others == 1 ? "refuses" : "refuse"), too.)" : ""),
            why: "Only systems that accept a connection are listed.",
            advice:
                "The network works. Resolve the stated reason. Watchers retry by themselves, at least twice a minute."
        )
    }

    var systems: DiagnosisFinding {
        if let reported = self.authentication ?? self.refused { return reported }
        let silent = self.unlisted.unreachable
        if !silent.isEmpty {
            let places = silent.prefix(4).joined(separator: ", ") + (silent.count > 4 ? ", …" : "")
            return DiagnosisFinding(
                .systems,
                .warning,
                "\(silent.count.of("program")) of this account \(silent.count == 1 ? "is" : "are") announced and "
                    + "\(silent.count == 1 ? "does" : "do") not respond: \(places).",
                why: "Only systems that respond are listed.",
                advice:
                    "Check that a firewall on that machine allows the port, and that the program still runs. "
                    + "'remotesystems doctor ADDRESS' checks the connection in both directions."
            )
        }
        guard self.hasOthers else { return self.nothingFound }
        return DiagnosisFinding(
            .systems,
            .ok,
            "\(self.listed.of("system")) of this account \(self.listed == 1 ? "responds" : "respond").",
            why: "Systems that respond are listed."
        )
    }

    var nothingFound: DiagnosisFinding {
        if self.network == .loopback {
            return DiagnosisFinding(
                .systems,
                .warning,
                self.listed == 0
                    ? "No program of this account announces itself on the loopback interface."
                    : "No other system of this account announces itself on the loopback interface.",
                why: "On the loopback interface only programs on this machine are found, and those of this account "
                    + "belong to this system.",
                advice: "To find other machines, omit '--loopback'. To be found with it, a program must run on this "
                    + "machine: 'remotesystems serve --loopback'."
            )
        }
        return DiagnosisFinding(
            .systems,
            .warning,
            "No other system of this account announces itself here.",
            why: "Only machines that run a host can be found.",
            advice:
                "Run 'remotesystems serve' on the other machine. If it runs there, the network may not carry multicast "
                + "between the two machines, or a firewall drops it: check with 'remotesystems doctor ADDRESS'."
        )
    }

    var otherAccounts: DiagnosisFinding {
        let why = "Systems of other accounts are neither listed nor trusted. They are only counted."
        let count = self.unlisted.otherAccounts
        guard count > 0 else {
            return DiagnosisFinding(.otherAccounts, .ok, "No program of another account is announced here.", why: why)
        }
        return DiagnosisFinding(
            .otherAccounts,
            self.hasOthers ? .ok : .warning,
            "\(count.of("program")) of other accounts \(count == 1 ? "announces itself" : "announce themselves") here, "
                + "so multicast works.",
            why: why,
            advice: self.hasOthers
                ? nil
                : "If one of them is your other machine, it belongs to a different account: compare 'remotesystems "
                    + "account show' on both machines, and add it to this account with 'remotesystems account invite'. "
                    + "A system that was revoked, or that missed a new root key of its account, does not recognise "
                    + "the others: 'remotesystems doctor ADDRESS', with the address of one, shows that."
                    + (self.hasLinks ? Self.linkedAdvice : "")
        )
    }

    private static let linkedAdvice =
        " Do not invite a machine of an account that is linked with this one: programs use it, and 'remotesystems list "
        + "--filter authorization=linked' lists it."

    var otherVersions: DiagnosisFinding? {
        let count = self.unlisted.otherVersions
        guard count > 0 else { return nil }
        return DiagnosisFinding(
            .otherVersions,
            .warning,
            "\(count.of("program")) on this network \(count == 1 ? "uses" : "use") another protocol version than "
                + "\(Presence.version).",
            why: "Protocol versions with different major numbers are incompatible.",
            advice: "Install the same version of RemoteSystems on all machines."
        )
    }
}

extension Int {
    /// The number and the noun: `1 system`, `3 systems`.
    func of(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
