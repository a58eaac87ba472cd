// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems pair`.
struct PairCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "pair",
        abstract: "Pair with another machine by six digits: join accounts, or link them.",
        usage: "remotesystems pair [<address>] [<options>]",
        discussion: """
            Without an address, the command waits for the other machine, and prints what to run there. With an \
            address, it connects. Both machines then show six digits. Confirm only if they are the same: if they \
            differ, a third machine is between the two.

            With --find instead of an address, the command looks for a waiting machine on the network.

            Without --link, one machine joins the other one's account: the machine that holds its account's root key \
            admits the other one. Of two new machines, the one that connects joins. With --link on both machines, the \
            accounts of two persons are linked, and each grants the other one what its own options name. A machine \
            that belongs to an account whose root key is elsewhere can neither admit nor link: run the command on the \
            machine with the root key, or, to move this machine to another account, add --leave-account. A machine \
            that joins another account leaves its own, and with it the links of that account: they are named before \
            you confirm.

            Notifications on this account's systems are the service org.remotesystems.notifications. The activities \
            that they offer are the topic org.remotesystems.activities; to continue these, grant the service of that \
            name, too. So --link with --service org.remotesystems.notifications lets the other account show \
            notifications here, and --link with --topic org.remotesystems.activities and \
            --service org.remotesystems.activities lets it continue activities. 'remotesystems account grant' changes \
            the rights later.

            Answer yes or no in the terminal; no answer within 30 seconds counts as no. If standard input is not a \
            terminal, or with --type-digits, type the digits that the other machine shows instead. After three failed \
            comparisons, connecting is locked for an hour.

            Exit status: 1 if the digits were not confirmed on both machines.
            """
    )

    @Argument(
        help: "The address that the waiting machine printed, HOST:PORT.",
        completion: NetworkCompletion.waitingMachines
    )
    var address: String?

    @Flag(help: "Connect to the machine on the network that waits, without its address.")
    var find = false
    @Flag(help: "Link the accounts of two persons instead of joining one. Give it on both machines.")
    var link = false
    @OptionGroup(title: "Rights that --link grants to the other account") var rights: GrantOptions

    @Flag(name: .customLong("leave-account"), help: "Leave the current account even if other systems belong to it.")
    var leavesAccount = false
    @Flag(name: .customLong("type-digits"), help: "Type the digits that the other machine shows, instead of yes or no.")
    var typesDigits = false
    @Option(help: ArgumentHelp("The name that the other machine shows. Defaults to this system's name."))
    var name: String?
    @Option(
        name: .customLong("host"),
        help: ArgumentHelp(
            """
            While waiting, a name or address at which the other machine reaches this one. Repeatable, at most 8 times. \
            Defaults to this machine's addresses.
            """,
            valueName: "host"
        )
    )
    var hosts: [String] = []
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("While waiting, the port to listen on; 0 for any free one.", valueName: "port")
    )
    var port = 0

    @OptionGroup var network: NetworkOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (0...65_535).contains(self.port) else { throw ValidationError("--port takes 0 to 65535.") }
        guard self.hosts.count <= 8 else { throw ValidationError("--host can be given at most 8 times.") }
        guard self.link || !self.rights.isGiven else {
            throw ValidationError("--service, --scheme, --topic and --days need --link.")
        }
        guard !self.link || !self.leavesAccount else {
            throw ValidationError("--link and --leave-account cannot be combined.")
        }
        guard !self.find || self.address == nil else { throw ValidationError("Give an address or --find, not both.") }
        guard !self.find || (self.hosts.isEmpty && self.port == 0) else {
            throw ValidationError("--host and --port are for the waiting machine.")
        }
        if let address {
            if let mistake = SystemAddress.mistake(in: address) { throw ValidationError(mistake) }
            guard SystemAddress(address)?.port != nil else {
                throw ValidationError("\(address) has no port. The waiting machine prints HOST:PORT.")
            }
            guard self.hosts.isEmpty, self.port == 0 else {
                throw ValidationError("--host and --port are for the waiting machine, which is given no address.")
            }
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let account = RemoteSystemsAccount(
            RemoteSystemsConfiguration("account", self.network, self.state, logger: self.common.logger())
        )
        let purpose: PairingPurpose =
            self.link ? .link(grants: self.rights.grants) : .join(leavingAccount: self.leavesAccount)
        let dialogue = PairDialogue(
            output: output,
            account: account,
            typesDigits: self.typesDigits,
            grants: self.rights.grants
        )
        let result: PairingResult?
        do {
            result = try await untilInterrupted { try await self.pair(account, purpose, dialogue, output) }
        } catch let error as RemoteSystemError {
            guard let cause = error.cause as? IdentityError, Self.refusals.contains(cause.code) else {
                throw self.explained(error)
            }
            try Failure(error).report(output)
            return false
        }
        guard let result else {
            try output.json(PairOutput(event: "stopped"))
            output.note("Stopped. Nothing was changed.")
            return false
        }
        try dialogue.report(result)
        return true
    }

    /// The error, with what it may mean on the machine that connects.
    private func explained(_ error: RemoteSystemError) -> any Error {
        let isMember = (error.cause as? IdentityError)?.code == .notAuthority
        guard isMember, !self.link, self.find || self.address != nil else { return error }
        var failure = Failure(error)
        failure.message +=
            " If the waiting machine is the one with this account's root key ('remotesystems account show' on both), "
            + "both belong to one account already, and there is nothing to pair."
        return failure
    }

    /// The options that the command on the other machine needs, too, each with a space before it.
    private var optionsOfOther: String {
        (self.link ? " --link" : "") + (self.network.loopback ? " --loopback" : "")
    }

    private static let refusals: Set<IdentityError.Code> = [.pairingDenied, .pairingRefused, .pairingTimedOut]

    private func pair(
        _ account: RemoteSystemsAccount,
        _ purpose: PairingPurpose,
        _ dialogue: PairDialogue,
        _ output: Output
    ) async throws -> PairingResult {
        if let address = self.address.flatMap(SystemAddress.init), let port = address.port {
            return try await account.pair(purpose, host: address.host, port: port, name: self.name) { prompt in
                try await dialogue.confirm(prompt)
            }
        }
        if self.find {
            // Fails now if this machine can do nothing of this.
            try await account.checkPairing(purpose, name: self.name)
            let place = try await self.place(account, output)
            return try await account.pair(purpose, at: place, name: self.name) { prompt in
                try await dialogue.confirm(prompt)
            }
        }
        return try await account.waitForPairing(
            purpose,
            name: self.name,
            hosts: self.hosts.isEmpty ? nil : self.hosts,
            port: self.port
        ) { place in
            try dialogue.showWaiting(at: place, options: self.optionsOfOther, leavesAccount: self.leavesAccount)
        } attemptFailed: { error in
            try? Failure(error).report(output)
            output.note("Still waiting. Ctrl-C stops.")
        } confirm: { prompt in
            try await dialogue.confirm(prompt)
        }
    }
}

extension PairCommand {
    /// Finds the one machine that waits.
    private func place(_ account: RemoteSystemsAccount, _ output: Output) async throws -> PairingPlace {
        output.note("Looking for a machine that waits ('remotesystems pair'). Ctrl-C stops.")
        let places = try await account.pairingsNearby()
        guard let place = places.first else {
            throw Failure("unreachable", "No machine on the network waits for a pairing.", canRetry: true)
        }
        guard places.count == 1 else {
            let addresses = places.compactMap(\.addresses.first).joined(separator: ", ")
            // Any machine can announce more than the list can hold.
            let isFull = places.count >= RemoteSystemsAccount.maxPairingsNearby
            throw Failure(
                "misuse",
                "\(isFull ? "At least " : "")\(places.count) machines wait for a pairing: \(addresses). Give the "
                    + "address that the right one printed"
                    + "\(isFull ? ", also if it is not in this list: each search lists a random selection" : "")."
            )
        }
        return place
    }
}

/// A line of `pair --json` without details.
struct PairOutput: Encodable {
    var event: String
    let time = Date.now
    var systemID: SystemID?
}
