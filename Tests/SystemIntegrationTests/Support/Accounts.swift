// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport

/// One account with as many systems as the tests need, created once by real invitations over a simulated network.
actor Accounts {
    static let shared = Accounts()

    private static let root: String = {
        // Named like a network's remains, so that the next run removes it after a crash.
        let stat = (try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8)) ?? ""
        let fields = stat.drop { $0 != ")" }.split(separator: " ")
        let path = "/tmp/rsnet-\(getpid())-\(fields.count > 20 ? String(fields[20]) : "0")-accounts"
        atexit { try? FileManager.default.removeItem(atPath: Accounts.root) }
        return path
    }()

    private var joined: [String] = []
    private var strangers = 0

    /// Directories of different systems of one account. The first holds the account's key.
    func states(_ count: Int) async throws -> [String] {
        // What an earlier test has met must not be found by a later one.
        for state in joined { try? FileManager.default.removeItem(atPath: "\(state)/account/known-endpoints.json") }
        if joined.isEmpty { joined = [try directory("0")] }
        guard joined.count < count else { return Array(joined.prefix(count)) }
        let missing = try (joined.count..<count).map { try directory("\($0)") }
        let authority = joined[0]
        let start = Date()
        try await SimulatedNetwork.with { network in
            let inviter = try await network.addMachine("inviter", state: authority)
            let joiner = try await network.addHost("joiner")
            // Creates the account first, so that systems invited at the same time join the same one.
            _ = try await inviter.command(["account", "show"]).exit(within: .seconds(15))
            for batch in stride(from: 0, to: missing.count, by: 4).map({ missing[$0..<min($0 + 4, missing.count)] }) {
                try await withThrowingTaskGroup { group in
                    for state in batch {
                        group.addTask {
                            try await inviter.invite(Machine(host: joiner, name: "joiner", state: state))
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
        joined += missing
        let seconds = Date().timeIntervalSince(start)
        if missing.count > 8 { report("\(missing.count) machines joining over the network, all of them", [seconds]) }
        return joined
    }

    /// A directory in which a separate account is created on first use.
    func stranger() throws -> String {
        strangers += 1
        return try directory("stranger-\(strangers)")
    }

    private func directory(_ name: String) throws -> String {
        let path = "\(Self.root)/\(name)"
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true, attributes: attributes)
        return path
    }
}

extension Machine {
    /// Starts to join the account of an invitation, which the command reads from its standard input.
    func join(_ invitation: String) throws -> ChildProcess {
        let joining = try command(["account", "join"])
        joining.write(invitation)
        return joining
    }

    /// Makes another machine join the account, over the network between them.
    @discardableResult
    func invite(_ other: Machine) async throws -> (invited: ReportedEvent, joined: ReportedEvent) {
        let inviting = try command(["account", "invite", "--host", address])
        let invitation = try await inviting.reported("invitation", within: .seconds(15))
        let joining = try other.join(invitation.uri ?? "")
        let joined = try await joining.reported("joined", within: .seconds(15))
        let invited = try await inviting.reported("joined", within: .seconds(15))
        let codes = (try await inviting.exit(), try await joining.exit())
        guard codes == (0, 0) else { throw IntegrationError("invite and join ended with \(codes)") }
        return (invited, joined)
    }
}
