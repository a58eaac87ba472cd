// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery

/// Findings about what is announced around this machine.
struct DiscoveryFindings: Sendable {
    /// How many systems answer, this one among them.
    var listed = 0
    var hasOthers = false
    var unlisted: RemoteSystemWatcher.Unlisted
    var network: RemoteSystemsConfiguration.Network

    /// Without an account: everything that is announced is somebody else's.
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
        network: RemoteSystemsConfiguration.Network
    ) {
        self.network = network
        self.listed = listed
        self.hasOthers = hasOthers
        self.unlisted = unlisted
    }

    var all: [DiagnosisFinding] { [self.systems, self.otherAccounts] + (self.otherVersions.map { [$0] } ?? []) }

    /// What to do where one side does not trust the other; which rule it was is in the message, in the other side's words.
    static let trustAdvice =
        "If it says that a system was revoked, that one has to be invited again. Otherwise both must be of one account "
        + "('remotesystems account show' on both), with certificates that are good and clocks that are right ('remotesystems "
        + "doctor' on both)."

    /// Somebody who was reached and is not trusted, or does not trust us: that says more than silence.
    var authentication: DiagnosisFinding? {
        guard let error = self.unlisted.errors.first(where: { $0.code == .authenticationError }) else { return nil }
        return DiagnosisFinding(
            .systems,
            .problem,
            "Something is announced as of this account and could not prove it, or refused us: \(error.message)",
            why: "Only systems that prove who they are get listed.",
            advice: Self.trustAdvice
        )
    }

    /// Somebody who answers and would not be connected to: no firewall is to blame, and it said itself what is.
    var refused: DiagnosisFinding? {
        guard let (place, text) = self.unlisted.refusals.min(by: { $0.key < $1.key }) else { return nil }
        let others = self.unlisted.refusals.count - 1
        return DiagnosisFinding(
            .systems,
            .warning,
            "The program of this account at \(place) answers and refuses: \(text)"
                + (others > 0 ? " (\(others.of("other program")) \(others == 1 ? "refuses" : "refuse"), too.)" : ""),
            why: "Only systems that let this one connect are listed.",
            advice:
                "The network is not in the way; do what it says. Watchers try again by themselves, at least twice a minute."
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
                    + "\(silent.count == 1 ? "does" : "do") not answer: \(places).",
                why: "Only systems that answer are listed.",
                advice:
                    "Look whether a firewall there lets that port in, and whether it ended just now without saying so. "
                    + "'remotesystems doctor ADDRESS' tries the way there and back."
            )
        }
        guard self.hasOthers else { return self.nobody }
        return DiagnosisFinding(
            .systems,
            .ok,
            "\(self.listed.of("system")) of this account \(self.listed == 1 ? "answers" : "answer").",
            why: "Those that answer are listed."
        )
    }

    var nobody: DiagnosisFinding {
        if self.network == .loopback {
            return DiagnosisFinding(
                .systems,
                .warning,
                "No other system of this account announces itself on the loopback interface.",
                why: "With loopback alone only programs on this machine are found, and those of this account are this "
                    + "system's own: 'remotesystems list --loopback' shows them.",
                advice: "Look on the network, or try two systems on one machine with state directories of their own."
            )
        }
        return DiagnosisFinding(
            .systems,
            .warning,
            "No other system of this account announces itself here.",
            why: "Only machines on which a program with a host runs can be found.",
            advice:
                "Run 'remotesystems serve' on the other machine. If it runs there, the network may not carry multicast "
                + "between the two, or a firewall drops it: 'remotesystems doctor ADDRESS' asks the other machine."
        )
    }

    var otherAccounts: DiagnosisFinding {
        let why = "Systems of other accounts are neither listed nor trusted; here they are only counted."
        let count = self.unlisted.otherAccounts
        guard count > 0 else {
            return DiagnosisFinding(.otherAccounts, .ok, "Nobody of another account announces itself here.", why: why)
        }
        return DiagnosisFinding(
            .otherAccounts,
            self.hasOthers ? .ok : .warning,
            "\(count.of("program")) of other accounts \(count == 1 ? "announces itself" : "announce themselves") here, so "
                + "multicast works.",
            why: why,
            advice: self.hasOthers
                ? nil
                : "If one of them is your other machine, it is in an account of its own: compare 'remotesystems account "
                    + "show' on both, and let it in with 'remotesystems account invite'."
        )
    }

    var otherVersions: DiagnosisFinding? {
        let count = self.unlisted.otherVersions
        guard count > 0 else { return nil }
        return DiagnosisFinding(
            .otherVersions,
            .warning,
            "\(count.of("program")) here \(count == 1 ? "speaks" : "speak") another version of the protocol than "
                + "\(Presence.version).",
            why: "Versions that differ in the first number cannot talk to each other.",
            advice: "Bring all machines to the same version of RemoteSystems."
        )
    }
}

extension Int {
    /// The number and the noun: `1 system`, `3 systems`.
    func of(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
