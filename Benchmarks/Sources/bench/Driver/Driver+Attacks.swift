// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Measuring

extension Driver {
    /// Measures round trips of a peer, and the time until a new system is added, without and under each attack.
    ///
    /// The attacked system is a host and a watcher in one process. The control is a bare server with TLS.
    mutating func measureAttacks() {
        do {
            let additions = AttackName.allCases.count * plan.attackRounds * 2
            let first = Attacker.Systems.firstNew
            try createSystems(1..<(Attacker.Systems.member + 1))
            try createSystems(first..<(first + additions))
            var next = first
            let raw = try Pair(.rawTLS, credentials: credentials, directory: plan.directory)
            defer { raw.stop() }
            let victim = try attackWorker()
            defer { victim.stop() }
            let port = Int(try victim.order(.startVictim(folder: AttackedSystem.folder)).number ?? 0)
            var setup = Setup(
                credentials: credentials,
                directory: "\(plan.directory)/system-\(Attacker.Systems.caller)"
            )
            setup.address = "\(port)"
            let caller = try Worker(["call", ContestantName.ours.rawValue], setup: setup)
            defer { caller.stop() }
            for worker in [raw.caller, caller] { try worker.order(.rehearse(.roundTrip, plan.warmUp)) }
            for attack in AttackName.allCases {
                progress("under \(attack.rawValue)")
                do {
                    if attack.concernsConnectionsOnly {
                        report.attacks.append(
                            try measure(attack, on: .rawTLS, port: Int(raw.server.address) ?? 0, raw.caller, nil, &next)
                        )
                    }
                    report.attacks.append(try measure(attack, on: .ours, port: port, caller, victim, &next))
                } catch {
                    note(attack.rawValue, "measuring", error)
                }
            }
        } catch {
            note("attacks", "measuring", error)
        }
    }

    private func attackWorker() throws -> Worker {
        try Worker(["attack"], setup: Setup(credentials: credentials, directory: plan.directory))
    }

    private func measure(
        _ attack: AttackName,
        on contestant: ContestantName,
        port: Int,
        _ caller: Worker,
        _ victim: Worker?,
        _ next: inout Int
    ) throws -> Report.Attack {
        var normal = Series(subject: "normal")
        var attacked = Series(subject: "attacked")
        var normalAdded = Series(subject: "normal")
        var attackedAdded = Series(subject: "attacked")
        var shares: [Double] = []
        for _ in 0..<plan.attackRounds {
            normal.append(try pace(caller))
            if let victim { normalAdded.append(try add(&next, watchedBy: victim)) }
            let attacker = try attackWorker()
            defer { attacker.stop() }
            if attack == .announcements {
                try victim?.order(.forge(true))
            } else {
                try attacker.order(.startAttack(attack, contestant, port: port))
            }
            usleep(plan.attackLead)
            attacked.append(try pace(caller))
            if let victim { attackedAdded.append(try add(&next, watchedBy: victim)) }
            if attack == .announcements {
                try victim?.order(.forge(false))
            } else {
                shares.append(Double(try attacker.order(.stopAttack).number ?? 0) / 1000)
            }
            attacker.stop()
            if victim != nil { removeAdvertisements(butOf: port) }
            // The attacked side closes what is left.
            usleep(plan.attackLead)
        }
        normal.seal()
        attacked.seal()
        normalAdded.seal()
        attackedAdded.seal()
        return Report.Attack(
            attack: attack,
            contestant: contestant,
            normal: normal,
            attacked: attacked,
            normalAdded: victim == nil ? nil : normalAdded,
            attackedAdded: victim == nil ? nil : attackedAdded,
            attackerPercent: shares.median
        )
    }

    private func pace(_ caller: Worker) throws -> Measurement? {
        try caller.order(.pace(count: plan.pacedMessages, intervalNanoseconds: 1_000_000)).measurement
    }

    /// Starts a new system in a process of its own, and returns the time until the watcher has added it.
    private func add(_ next: inout Int, watchedBy victim: Worker) throws -> Measurement {
        let number = next
        next += 1
        let host = try pack()
        defer { host.stop() }
        let start = monotonicNanoseconds()
        try host.order(.startHosts(number..<(number + 1), folder: AttackedSystem.folder))
        let added = try victim.order(.awaitSystem("System \(number)", seconds: 30)).number ?? 0
        return Measurement(nanoseconds: [added - start], elapsedNanoseconds: added - start)
    }

    /// Removes the advertisements of processes that were stopped.
    private func removeAdvertisements(butOf port: Int) {
        let folder = "\(plan.directory)/\(AttackedSystem.folder)"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let text = (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)) ?? ""
            if text.contains("\"port\":\(port)") { continue }
            try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
    }
}
