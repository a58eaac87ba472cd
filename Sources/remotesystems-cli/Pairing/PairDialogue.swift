// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import RemoteSystems

/// What `remotesystems pair` says and asks.
struct PairDialogue: Sendable {
    let output: Output
    let account: RemoteSystemsAccount
    let typesDigits: Bool
    /// The rights that the other account gets if the accounts are linked.
    let grants: Grants

    /// Whether the person types the other machine's digits instead of yes or no. A program could always answer yes.
    private var wantsDigits: Bool { self.typesDigits || isatty(STDIN_FILENO) != 1 }

    /// Shows what to run on the other machine.
    ///
    /// - Parameters:
    ///   - options: What the command there needs besides an address, with a space before each.
    ///   - leavesAccount: Whether this machine can only join the other one's account.
    func showWaiting(at place: PairingPlace, options: String, leavesAccount: Bool) throws {
        try self.output.json(WaitingOutput(addresses: place.addresses, port: place.port))
        self.output.note(
            place.addresses.count == 1
                ? "Run this on the other machine:\n"
                : "Run this on the other machine (if one address does not work, try the next):\n"
        )
        for address in place.addresses { try self.output.line("    remotesystems pair \(address)\(options)") }
        self.output.note("\nOn the same network, 'remotesystems pair --find\(options)' does the same.")
        if leavesAccount {
            self.output.note("This machine joins the other one's account and leaves its own. It admits no machine.")
        }
        self.output.note("Waiting for the other machine, for ten minutes. Ctrl-C stops.")
    }

    func confirm(_ prompt: PairingPrompt) async throws -> Bool {
        let endingLinks = prompt.effect == .joinsOther ? self.account.activeLinks.map(\.name) : []
        try self.output.json(
            ComparisonOutput(
                digits: prompt.digits,
                name: prompt.name,
                effect: prompt.effect.rawValue,
                endsLinks: prompt.effect == .joinsOther ? endingLinks : nil
            )
        )
        let effect =
            switch prompt.effect {
            case .admitsOther: "the other machine joins the account of this one"
            case .joinsOther: "this machine joins the account of the other one"
            case .links: "the accounts of the two machines are linked"
            }
        let name = prompt.name.quoted.printable
        self.output.note("\nConnected to a machine that calls itself \(name). This machine shows:\n")
        try self.output.line("    \(prompt.groupedDigits)\n")
        self.output.note("If you confirm on both machines, \(effect).")
        if prompt.effect == .links {
            self.output.note("This account then grants to the other one: \(self.grants.text).".wrapped())
        }
        if !endingLinks.isEmpty {
            self.output.note(
                ("This machine then leaves its present account, and with it the links with other people's accounts: "
                    + "\(endingLinks.map(\.quoted.printable).joined(separator: ", ")). Their systems and this machine "
                    + "can no longer use each other.").wrapped()
            )
        }
        if self.wantsDigits {
            self.output.note("Type the six digits that the other machine shows, within 30 seconds:")
            let answer = try await TerminalAnswer.line()
            let isSame = answer?.filter(\.isNumber) == prompt.digits
            if !isSame { self.output.note("These are not the digits of this machine.") } else { self.noteWait() }
            return isSame
        }
        // What was typed before belongs to an earlier question.
        tcflush(STDIN_FILENO, TCIFLUSH)
        self.output.ask("Does the other machine show the same digits? [y/N] ")
        let answer = try await TerminalAnswer.line()?.lowercased()
        let isSame = answer == "y" || answer == "yes"
        if isSame { self.noteWait() }
        return isSame
    }

    private func noteWait() { self.output.note("Confirmed here. Waiting for the other machine.") }

    func report(_ result: PairingResult) throws {
        switch result {
        case .admitted(let system):
            try self.output.json(PairOutput(event: "admitted", systemID: system))
            try self.output.line("System \(system.short) has joined the account.")
        case .joined(let change):
            try AccountChangeOutput.report(change, event: "joined", self.output)
        case .linked(let link):
            try self.output.json(LinkOutput(event: "linked", link))
            for line in link.lines { try self.output.line(line) }
            self.output.note(
                ("Programs use the link; commands such as 'ping' find systems of this account only. 'remotesystems "
                    + "list --filter authorization=linked' lists the other account's systems that are reachable.")
                    .wrapped()
            )
        }
    }
}

/// Reads an answer from standard input.
enum TerminalAnswer {
    /// Reads a line, without its end; `nil` at the end of the input.
    ///
    /// Standard input is not read while nothing waits, so that the read can be cancelled.
    ///
    /// - Parameter maxBytes: The number of bytes after which a line is cut off.
    static func line(maxBytes: Int = 256) async throws -> String? {
        var bytes: [UInt8] = []
        while true {
            var ready = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&ready, 1, 0) > 0 else {
                // Standard input may also be a file or a pipe, so it is polled.
                try await Task.sleep(for: .milliseconds(20))
                continue
            }
            try Task.checkCancellation()
            var byte: UInt8 = 0
            let count = unsafe read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count == 1, bytes.count < maxBytes else { break }
            if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self).trimmed }
            bytes.append(byte)
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self).trimmed
    }
}

extension String {
    fileprivate var trimmed: String {
        String(self.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }
}

/// The first output of `pair --json` on the waiting machine.
private struct WaitingOutput: Encodable {
    let event = "waiting"
    let time = Date.now
    var addresses: [String]
    var port: Int
}

/// The output of `pair --json` when the digits are to be compared.
private struct ComparisonOutput: Encodable {
    let event = "compare"
    let time = Date.now
    var digits: String
    var name: String
    var effect: String
    /// The names of the linked accounts whose links this machine loses if it joins the other account.
    var endsLinks: [String]?
}
