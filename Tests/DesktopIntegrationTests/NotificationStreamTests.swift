// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import Testing

extension NotificationHostsTests {
    @Test func `of many notifications between three hosts none is lost when daemons are killed (N-07, N-11, X-40)`()
        async throws
    {
        // A daemon that was killed is found again at the same address.
        try await Self.with(hosts: 3, port: 47_474) { desktops in
            let stream = try NotificationStream(between: desktops)
            let titles = stream.titles
            // Each daemon dies while notifications arrive, and another one begins with what it has stored.
            var daemons = try await stream.restartDaemons(after: [60, 70, 80])
            for number in desktops.systems.indices { try await stream.reached(number, by: titles.count) }

            // Each user answers a third, and one of their daemons dies again.
            let users = try desktops.systems.indices.map { number in
                try desktops.systems[number].probe(["answer", "\(number)", "\(desktops.systems.count)"])
            }
            try await desktops.eventually("some are answered") {
                users[1].lines.count { $0.hasPrefix("answered ") } >= 10
            }
            let killed = daemons[1]
            daemons[1] = try await desktops.second.restart(killed)
            for user in users {
                let code = try await user.exit(within: .seconds(120))
                #expect(code == 0)
            }

            try await stream.isAnsweredOnce()
            for system in desktops.systems {
                try await desktops.eventually("everything has ended") {
                    try await Set(system.ended()).count == titles.count
                }
                let ended = try await system.ended()
                #expect(ended == titles)
            }
            for number in desktops.systems.indices {
                // The second host has had three daemons.
                let stated = daemons[number].possiblyShownTwice + (number == 1 ? killed.possiblyShownTwice : 0)
                try await desktops.eventually("what ended is closed, but for what is on the screen twice") {
                    try await desktops.systems[number].shownCount() <= stated
                }
                let left = try await desktops.systems[number].shownCount()
                print("STREAM: host \(number): \(left) of \(titles.count) shown twice; \(stated) stated by its daemon")
            }
            for process in daemons + stream.senders { await process.stop() }
        }
    }
}

/// Notifications that three hosts send to all of them.
private struct NotificationStream {
    /// The notifications of each host. A system keeps 64 of one sender, accepts 30 of them at once, and as many again
    /// after it was restarted.
    static let countOfSender = 50

    let desktops: QuestionDesktops
    let senders: [ChildProcess]

    /// Starts to send.
    init(between desktops: QuestionDesktops) throws {
        let addresses = desktops.systems.compactMap(\.host?.address)
        self.desktops = desktops
        self.senders = try desktops.systems.indices.map { number in
            try desktops.systems[number].probe(["send", "\(Self.countOfSender)", "\(number)"] + addresses)
        }
    }

    /// The titles of all notifications, sorted.
    var titles: [String] {
        self.senders.indices.flatMap { sender in (0..<Self.countOfSender).map { "\(sender)-\($0)" } }.sorted()
    }

    /// What the senders have printed that begins with a word: the words after it.
    private func printed(_ word: String) -> [[String]] {
        self.senders.flatMap(\.lines).filter { $0.hasPrefix("\(word) ") }
            .map { $0.split(separator: " ").dropFirst().map(String.init) }
    }

    /// Waits until a host has accepted so many notifications.
    func reached(_ number: Int, by count: Int) async throws {
        let address = try #require(self.desktops.systems[number].host?.address)
        do {
            _ = try await eventually("\(count) at \(address)", within: .seconds(120), every: .milliseconds(50)) {
                self.printed("delivered").count { $0.first == address } >= count ? true : nil
            }
        } catch {
            throw IntegrationError("\(error); failures: \(self.printed("failed").suffix(10))")
        }
    }

    /// Kills the daemon of each host when it has accepted a number of notifications, and starts another one.
    ///
    /// - Returns: the new daemons.
    func restartDaemons(after counts: [Int]) async throws -> [ChildProcess] {
        try await withThrowingTaskGroup(of: (number: Int, daemon: ChildProcess).self) { group in
            for (number, count) in counts.enumerated() {
                group.addTask {
                    try await self.reached(number, by: count)
                    return (number, try await self.desktops.systems[number].restart(self.desktops.daemons[number]))
                }
            }
            var daemons = self.desktops.daemons
            for try await restarted in group { daemons[restarted.number] = restarted.daemon }
            return daemons
        }
    }

    /// Waits until every sender has the responses to all its notifications: one to each. A response may arrive again
    /// when a daemon has died; it has the same id then.
    func isAnsweredOnce() async throws {
        let titles = self.titles
        let ids = try await eventually("all responses", within: .seconds(120), every: .milliseconds(100)) {
            () async throws -> [String: Set<String>]? in
            // The address, the id of the response, that of the notification, and the action.
            let responses = self.printed("response").filter { $0.count == 4 && $0[3] == "yes" }
            let ids = Dictionary(grouping: responses) { $0[2] }.mapValues { Set($0.map { $0[1] }) }
            return ids.count >= titles.count ? ids : nil
        }
        #expect(ids.keys.sorted() == titles)
        let doubled = ids.filter { $0.value.count > 1 }
        #expect(doubled.isEmpty, "\(doubled)")
        for (number, sender) in self.senders.enumerated() {
            let foreign = sender.lines.filter { $0.hasPrefix("response ") && !$0.contains(" \(number)-") }
            #expect(foreign.isEmpty, "\(foreign)")
        }
    }
}

extension QuestionDesktop {
    /// Starts `desktop-probe` as a program of this system.
    fileprivate func probe(_ arguments: [String]) throws -> ChildProcess {
        try self.start(["env", "REMOTE_SYSTEMS_STATE=\(self.state)", self.desktop.probe] + arguments)
    }

    /// The titles of the notifications that have ended on this system, sorted.
    fileprivate func ended() async throws -> [String] {
        try await self.command("notifications", "history", "--json", "--limit", "10000").split(separator: "\n")
            .compactMap { line in line.firstMatch(of: /"title":"([0-9]+-[0-9]+)"/).map { String($0.output.1) } }
            .sorted()
    }
}
