// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems account show`.
struct AccountShowCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the account and this system's role in it.",
        usage: "remotesystems account show [<options>]",
        discussion: """
            Creates a personal account if there is none yet, as every other use of the account does.

            A revoked machine knows that it was revoked only from a refusal by another system. The command prints \
            such a refusal. A machine that must join again, because the root key was replaced, knows so from the first \
            system of the account that it reaches.
            """
    )

    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(RemoteSystemsConfiguration(state: self.state, logger: self.common.logger()))
        let identity = try account.identity()
        let revoked = try account.revokedSystems()
        let formerlyRevoked = try account.formerlyRevokedSystems().filter { !revoked.contains($0) }
        let joined = try account.systemsThatJoined().filter { !revoked.contains($0) && !formerlyRevoked.contains($0) }
        let directory = try account.directory
        let lacksKey = try account.lacksKey()
        let refusal = try account.refusalAsRevoked()
        let replaced = try account.rootKeyReplacement()
        try output.json(
            AccountOutput(
                accountID: identity.accountID,
                systemID: identity.systemID,
                isAuthority: identity.isAuthority,
                lacksKey: lacksKey,
                certificateBegins: identity.certificateValidity.lowerBound,
                certificateEnds: identity.certificateValidity.upperBound,
                renewal: identity.renewalDate,
                joined: joined,
                revoked: revoked,
                formerlyRevoked: formerlyRevoked,
                refusedAsRevoked: refusal?.date,
                refusedBy: refusal?.system,
                rootKeyReplaced: replaced,
                directory: directory
            )
        )
        try output.line("account      \(identity.accountID)")
        try output.line("system       \(identity.systemID)")
        let role =
            identity.isAuthority
            ? "authority: holds the account's root key" + (refusal == nil ? ", can invite others" : "")
            : lacksKey
                ? "member: the account's key was here and is missing (see 'doctor')"
                : "member: the account's root key is on another machine"
        try output.line("role         \(role)")
        if let loss = LostMembership(replaced: replaced, refusal: refusal) {
            let indent = String(repeating: " ", count: 13)
            try output.line("state        \(loss.text.wrapped(indent: indent).dropFirst(indent.count))")
        }
        let certificate =
            replaced.map { "invalid since \($0.formatted(.iso8601))" }
            ?? Self.certificate(of: identity, canRenew: identity.isAuthority || !lacksKey && refusal == nil, at: .now)
        try output.line("certificate  \(certificate)")
        if identity.isAuthority {
            let count =
                try account.isJoinRecordDamaged()
                ? "number not known, the record is damaged" + (joined.isEmpty ? "" : "; by id:")
                : joined.isEmpty ? "no other system yet" : "\(joined.count), by id:"
            try output.line("joined       \(count)")
            for system in joined { try output.line("             \(system)") }
        }
        if !revoked.isEmpty {
            try output.line("revoked      \(revoked.count), by id:")
            for system in revoked { try output.line("             \(system)") }
        }
        if !formerlyRevoked.isEmpty {
            try output.line("was revoked  \(formerlyRevoked.count), before the root key was stolen; do not invite:")
            for system in formerlyRevoked { try output.line("             \(system)") }
        }
        try output.line("kept in      \(directory.printable)")
        let warnings = [refusal == nil ? account.certificateWarning : nil].compactMap(\.self) + account.recordFindings
        try FindingOutput.warn(of: warnings, output)
        return true
    }

    private static func certificate(of identity: SystemIdentity, canRenew: Bool, at now: Date) -> String {
        let (begin, end) = (identity.certificateValidity.lowerBound, identity.certificateValidity.upperBound)
        let days = Int((end.timeIntervalSince(now) / 86_400).rounded(.down))
        if now < begin { return "begins \(begin.formatted(.iso8601)): 'remotesystems doctor' says what to do" }
        if now >= end { return "ended \(end.formatted(.iso8601)): 'remotesystems doctor' says what to do" }
        // The warning that follows says what to do.
        let renewal = days < 10 ? ", not renewed yet" : canRenew ? ", renewed by itself" : ""
        return "until \(end.formatted(.iso8601)) (\(days) days)\(renewal)"
    }
}

/// The output of `account show --json`.
private struct AccountOutput: Encodable {
    let event = "account"
    var accountID: AccountID
    var systemID: SystemID
    var isAuthority: Bool
    var lacksKey: Bool
    var certificateBegins: Date
    var certificateEnds: Date
    var renewal: Date
    var joined: [SystemID]
    var revoked: [SystemID]
    /// The systems that were revoked before a stolen root key was replaced, and not admitted since.
    var formerlyRevoked: [SystemID]
    /// The time at which another system refused this one as revoked.
    var refusedAsRevoked: Date?
    var refusedBy: SystemID?
    /// The time at which this system's certificate became invalid, because the root key was replaced.
    var rootKeyReplaced: Date?
    var directory: String
}
