// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems account systems`.
struct AccountSystemsCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "systems",
        abstract: "List the systems of the account that this machine knows of.",
        usage: "remotesystems account systems [<options>]",
        discussion: """
            Known are the systems that this machine admitted, by an invitation or by pairing, those that this user's \
            programs met, and the revoked ones, which stay in the list. 'remotesystems list' meets the systems that \
            are reachable now; 'info', 'ping' and 'call' meet the one that they name. A system whose name is not known \
            here is '(not seen yet)'.

            'must join again' marks a system whose certificate ended when the root key was replaced with 'account \
            rotate-root-key --stolen'. Do not invite the machine from which the key was stolen. 'not seen since the \
            root key was stolen' marks one of which this machine knows no certificate: it may have joined again \
            elsewhere. 'was revoked; do not invite' marks a system that had been revoked before that. The thief can \
            have revoked systems, too: invite such a system only if you know why it was revoked. Only the machine \
            with the root key marks others; each machine marks itself, also if its certificate ended later.
            """
    )

    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(RemoteSystemsConfiguration(state: self.state, logger: self.common.logger()))
        let systems = try account.systems()
        for system in systems {
            try output.json(
                AccountSystemOutput(
                    id: system.id,
                    name: system.name,
                    lastMet: system.lastMet,
                    certificateEnd: system.certificateEnd,
                    isRevoked: system.isRevoked,
                    isLocal: system.isLocal,
                    mustJoinAgain: system.mustJoinAgain,
                    wasRevoked: system.wasRevoked
                )
            )
            let name = system.name.map(\.printable) ?? "(not seen yet)"
            try output.line("\(system.id.short)  \(name)  \(Self.state(of: system, at: .now))")
        }
        try FindingOutput.warn(of: account.recordFindings, output)
        if systems.count == 1 {
            let text =
                "Other systems of the account are listed here after this machine has met them. 'remotesystems list' "
                + "meets those that are reachable."
            output.note(text.wrapped())
        }
        return true
    }

    private static func state(of system: AccountSystem, at now: Date) -> String {
        func day(_ date: Date) -> String { date.formatted(.iso8601.year().month().day()) }
        if system.isRevoked { return "revoked" }
        if system.wasRevoked { return "was revoked; do not invite" }
        if system.mustJoinAgain { return system.isLocal ? "this machine, must join again" : "must join again" }
        if system.isUnknownSinceTheft { return "not seen since the root key was stolen" }
        let verb = system.name == nil ? "joined" : "met"
        let met = system.isLocal ? "this machine" : system.lastMet.map { "\(verb) \(day($0))" }
        let certificate = system.certificateEnd.map { end in
            end <= now ? "certificate ended \(day(end))" : "certificate until \(day(end))"
        }
        return [met, certificate].compactMap(\.self).joined(separator: ", ")
    }
}

/// A line of `account systems --json`.
private struct AccountSystemOutput: Encodable {
    let event = "account-system"
    var id: SystemID
    var name: String?
    var lastMet: Date?
    var certificateEnd: Date?
    var isRevoked: Bool
    var isLocal: Bool
    /// Whether the system has to join again after the root key was stolen.
    var mustJoinAgain: Bool
    /// Whether the system was revoked before the root key was stolen, and not admitted since.
    var wasRevoked: Bool
}
