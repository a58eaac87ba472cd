// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

/// Notifications between simulated hosts of one account, each with a host daemon, a session bus and a notification
/// server of its own.
@Suite(
    .serialized,
    .enabled(if: SimulatedNetwork.isToBeTried, "\(SimulatedNetwork.obstacle ?? "")"),
    // A sender looks for a system that was cut off every 30 s.
    .timeLimit(.minutes(5))
)
struct NotificationHostsTests {
    /// - Parameters:
    ///   - count: the number of hosts, at most three. Defaults to 2.
    ///   - port: the port of each daemon. Defaults to 0: any.
    static func with(
        hosts count: Int = 2,
        port: Int = 0,
        _ body: (QuestionDesktops) async throws -> Void
    ) async throws {
        try await SimulatedNetwork.with { network in
            var hosts: [SimulatedHost] = []
            for name in ["a", "b", "c"].prefix(count) { hosts.append(try await network.addHost(name)) }
            try await QuestionDesktops.with(on: hosts, port: port, body)
        }
    }

    @Test func `a question to one host is shown there only, and the action of its server is printed (N-11, X-75)`()
        async throws
    {
        try await Self.with { desktops in
            let asking = try desktops.ask(for: try desktops.secondID())
            try await desktops.second.shows(1)
            let count = try await desktops.first.control("count", "displayed")
            #expect(count == "0")
            try await desktops.choose(until: asking)
            try await desktops.isAnsweredOnce(asking)
            try await desktops.second.shows(0)
        }
    }

    @Test func `a question to all is answered on one host, and gone from the server of the other (N-11, X-40)`()
        async throws
    {
        try await Self.with { desktops in
            let asking = try desktops.ask(for: "--all")
            try await desktops.first.shows(1)
            try await desktops.second.shows(1)
            try await desktops.choose(until: asking)
            try await desktops.isAnsweredOnce(asking)
            for system in [desktops.first, desktops.second] { try await system.shows(0) }
        }
    }

    @Test(arguments: [false, true])
    func `an answer over a cut link arrives once when it is back, also if its daemon was killed (N-11, X-40)`(
        isKilled: Bool
    ) async throws {
        try await Self.with { desktops in
            let asking = try desktops.ask(for: "--all")
            try await desktops.first.shows(1)
            try await desktops.second.shows(1)
            let host = try #require(desktops.first.host)
            // At this end: programs of the second host still find their daemon.
            try await host.setCable(plugged: false)
            try await desktops.eventually("it is answered") {
                try await desktops.second.control("context")
                return try await desktops.second.history().count == 1
            }
            try await desktops.second.shows(0)
            let count = try await desktops.first.control("count", "displayed")
            #expect(count == "1" && asking.exitCode == nil)
            let restarted = try await isKilled ? desktops.second.restart(desktops.daemons[1]) : nil
            try await host.setCable(plugged: true)
            // What a killed daemon has sent, its kernel still delivers. The next one does not know that, and keeps the
            // response for a program that has ended.
            try await desktops.isAnsweredOnce(asking, isAcknowledged: !isKilled)
            for system in [desktops.first, desktops.second] { try await system.shows(0) }
            await restarted?.stop()
        }
    }

    @Test(arguments: [false, true])
    func `a question to three hosts is answered on one, and does not come back with one that was cut off (N-11, X-40)`(
        isCutOff: Bool
    ) async throws {
        try await Self.with(hosts: 3) { desktops in
            let asking = try desktops.ask(for: "--all")
            for system in desktops.systems { try await system.shows(1) }
            let third = desktops.systems[2]
            let host = try #require(third.host)
            if isCutOff { try await host.setCable(plugged: false) }
            try await desktops.eventually("it is answered") {
                try await desktops.second.control("context")
                return try await desktops.second.history().count == 1
            }
            for system in [desktops.first, desktops.second] { try await system.shows(0) }
            if isCutOff {
                let count = try await third.control("count", "displayed")
                #expect(count == "1")
                try await host.setCable(plugged: true)
            }
            try await third.shows(0)
            try await desktops.isAnsweredOnce(asking)
            // What would bring it back is on its way before the next notification.
            let next = try desktops.ask("--all", "--title", "Next", waits: true)
            for system in desktops.systems { try await system.shows(1) }
            for system in desktops.systems {
                let list = try await system.command("notifications", "list")
                #expect(list.contains("Next") && !list.contains("Deploy?"), "\(list)")
                let history = try await system.history()
                #expect(history.count == 1, "\(history)")
            }
            await next.stop()
        }
    }

    @Test(arguments: [false, true])
    func `a question is answered once after its daemon was killed, before or after it was shown (N-11, X-40)`(
        isShown: Bool
    ) async throws {
        try await Self.with { desktops in
            // To all: a sender to one system ends if that one dies before it has confirmed the delivery.
            let asking = try desktops.ask(for: "--all")
            _ = try await desktops.second.listedKey()
            if isShown {
                try await desktops.second.shows(1)
                try await desktops.eventually("its place is stored") {
                    try await desktops.second.storedKeys("place").count == 1
                }
            }
            let restarted = try await desktops.second.restart(desktops.daemons[1])
            try await desktops.eventually("the new daemon shows it") {
                try await desktops.second.command("notifications", "list", "--json").contains(#""isShown":true"#)
            }
            try await desktops.choose(until: asking)
            try await desktops.isAnsweredOnce(asking)
            // If the daemon died before it had stored where the server shows it, it is on the screen twice.
            let stated = restarted.possiblyShownTwice
            #expect(stated <= (isShown ? 0 : 1))
            try await desktops.eventually("what is left on the screen is counted") {
                try await desktops.second.shownCount() <= stated
            }
            await restarted.stop()
        }
    }
}

extension QuestionDesktops {
    fileprivate func ask(for target: String) throws -> ChildProcess {
        try self.ask(target, "--title", "Deploy?", "--action", "yes=Deploy", "--action", "no=Wait", waits: true)
    }

    /// The id of the second system, as its daemon prints it.
    fileprivate func secondID() throws -> String {
        let ready = self.daemons[1].lines.joined()
        let id = try #require(ready.firstMatch(of: /as system ([a-z2-7]+)/)?.output.1)
        return String(id)
    }

    /// Chooses the first action on the second system until the program that asks has ended. Repeated because the server
    /// may not have drawn it yet.
    fileprivate func choose(until asking: ChildProcess) async throws {
        _ = try await IntegrationSupport.eventually("the answer", within: .seconds(120), every: .milliseconds(100)) {
            () async throws -> Bool? in
            try await self.second.control("context")
            return asking.exitCode == nil ? nil : true
        }
    }

    /// Waits until the answer of the second system is printed. No system has the question any more, and no other answer
    /// can come.
    ///
    /// - Parameter isAcknowledged: whether the second system learns that the sender has its response. Defaults to
    ///   `true`.
    fileprivate func isAnsweredOnce(_ asking: ChildProcess, isAcknowledged: Bool = true) async throws {
        let code = try await asking.exit(within: .seconds(120))
        let lines = try await asking.allLines()
        #expect(code == 0 && lines.count { $0 == "yes" } == 1, "\(lines)")
        for system in self.systems {
            try await self.eventually("nothing waits") { try await system.listsNothing() }
        }
        if isAcknowledged {
            // The daemon would send it again after a restart.
            try await self.eventually("no response waits for its sender") {
                try await self.second.storedKeys("response").isEmpty
            }
        }
        let history = try await self.second.history()
        #expect(history.count == 1 && history.first?.contains(#""action":"yes""#) == true, "\(history)")
    }
}

extension QuestionDesktop {
    /// Whether the daemon has responded that no notification waits.
    fileprivate func listsNothing() async throws -> Bool {
        let listing = try self.start([try builtProgram("remotesystems"), "notifications", "list"] + self.options)
        return try await listing.exit(within: .seconds(60)) == 1
    }

    /// The questions that have ended on this system.
    fileprivate func history() async throws -> [String] {
        try await self.command("notifications", "history", "--json").split(separator: "\n").map(String.init)
            .filter { $0.contains("Deploy?") }
    }
}
