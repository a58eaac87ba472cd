// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Issue 3 §7: two machines with two cables between them.
    @Suite struct SeveralInterfaces {
        @Test(arguments: Way.allCases)
        func `a machine on two networks stays listed and reachable when one goes down`(_ way: Way) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                var addresses: [String] = [a.address]
                for machine in machines {
                    let second = try await machine.host.connectToSecondEthernet()
                    if machine.name == a.name { addresses.append(second) }
                    try await way.prepare(machine.host)
                }
                let onB = try b.watch()
                _ = try await a.serve()
                try await onB.reported("added", a)
                for address in addresses { #expect(try await b.ping(address).answered == 3) }
                // Both addresses must be known here before one is removed. No event reports the second.
                try await Task.sleep(for: .seconds(2))

                // The cable that the watcher's own connection uses.
                let reported = onB.reported.count
                let used = try await b.ethernet(usedFor: a)
                let cut = Date()
                try await a.host.setCable(plugged: false, ethernet: used)
                let start = Date()
                #expect(try await b.ping("alpha").answered == 3)
                report("\(way): a ping by name with one of two cables cut", [Date().timeIntervalSince(start)])
                // Longer than the silence timeout.
                try await Task.sleep(for: .seconds(16) - .seconds(Date().timeIntervalSince(cut)))
                #expect(!onB.hasReported("removed", from: reported), "\(onB.lines)")
                _ = try await eventually("a connection over the other cable") {
                    try await b.ethernet(usedFor: a) == 1 - used ? true : nil
                }
                #expect(try await b.ping("alpha").answered == 3)

                // The second cable goes once the first has returned. The daemon plays no part in this, so one way is
                // enough.
                guard way == .embedded else { return }
                try await a.host.setCable(plugged: true, ethernet: used)
                // Real time until the first cable is in use again.
                try await Task.sleep(for: .seconds(3))
                try await a.host.setCable(plugged: false, ethernet: 1 - used)
                // Longer than the silence timeout.
                try await Task.sleep(for: .seconds(16))
                try await onB.listed(a, within: .seconds(20))
                #expect(try await b.ping("alpha").answered == 3)
                let end = Date()
                try await a.host.setCable(plugged: false, ethernet: used)
                let silence = try await onB.reported("removed", a, from: reported, within: .seconds(20)).seconds(
                    since: end
                )
                #expect(silence < 15)
            }
        }
    }
}

extension Machine {
    /// The number of the Ethernet that carries a connection from here to another machine's default port.
    fileprivate func ethernet(usedFor other: Machine) async throws -> Int {
        let question = ["ss", "-Htno", "state", "established", "dport = :47474"]
        return try await eventually("a connection from \(name) to \(other.name)") { () -> Int? in
            let list = try await host.output(of: question)
            if list.contains("10.77.0.") { return 0 }
            if list.contains("10.78.0.") { return 1 }
            if list.contains("%eth0") { return 0 }
            return list.contains("%eth1") ? 1 : nil
        }
    }
}

extension ChildProcess {
    /// Waits until the events so far leave the machine listed.
    func listed(_ machine: Machine, within limit: Duration = .seconds(10)) async throws {
        do {
            _ = try await eventually("\(machine.name) in the list", within: limit, every: .milliseconds(50)) {
                () -> Bool? in
                let events = reported.filter { $0.name == machine.name && ["added", "removed"].contains($0.event) }
                return events.last?.event == "added" ? true : nil
            }
        } catch {
            throw IntegrationError("\(error); reported so far: \(lines.joined(separator: " | "))")
        }
    }

    /// Whether each removal concerns a listed machine, and each addition an unlisted one.
    func reportedInTurns(_ machine: Machine) -> Bool {
        let events = reported.filter { $0.name == machine.name && ["added", "removed"].contains($0.event) }.map(\.event)
        return events.enumerated().allSatisfy { $0.element == ($0.offset % 2 == 0 ? "added" : "removed") }
    }
}
