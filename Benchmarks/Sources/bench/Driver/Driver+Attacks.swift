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
            try createAttackSystems(first..<(first + additions))
            var next = first
            let raw = try Pair(.rawTLS, credentials: credentials, directory: plan.directory)
            defer { raw.stop() }
            let attacked = try attackWorker()
            defer { attacked.stop() }
            let started = try attacked.order(.startVictim(folder: AttackedSystem.folder))
            let port = Int(started.number ?? 0)
            let victim = Victim(worker: attacked, forgingPort: Int(started.address ?? "") ?? 0)
            var setup = Setup(
                credentials: credentials,
                directory: "\(attackDirectory)/system-\(Attacker.Systems.caller)"
            )
            setup.address = "\(port)"
            let caller = try Worker(["call", ContestantName.ours.rawValue], setup: setup)
            defer { caller.stop() }
            for worker in [raw.caller, caller] { try worker.order(.rehearse(.roundTrip, plan.warmUp)) }
            for attack in AttackName.allCases {
                progress("under \(attack.rawValue)")
                do {
                    if attack.hasControl {
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

    /// The directory of the systems of an account of their own, one of which is revoked.
    private var attackDirectory: String { "\(plan.directory)/attacks" }

    private func attackWorker(_ command: String = "attack") throws -> Worker {
        try Worker([command], setup: Setup(credentials: credentials, directory: attackDirectory))
    }

    /// Creates the systems. Those that are created after the revocation have the discovery key that it made.
    private func createAttackSystems(_ new: Range<Int>) throws {
        progress("creating \(new.count) systems")
        try FileManager.default.createDirectory(atPath: attackDirectory, withIntermediateDirectories: true)
        let creator = try attackWorker("pack")
        defer { creator.stop() }
        let revoked = Attacker.Systems.revoked
        try creator.order(.createSystems(revoked..<(revoked + 1)))
        try creator.order(.revokeSystem(revoked))
        try creator.order(.createSystems(Attacker.Systems.caller..<(Attacker.Systems.member + 1)))
        try creator.order(.createSystems(new), within: 300)
    }

    /// The process of the attacked system.
    private struct Victim {
        var worker: Worker
        /// The port that receives forged announcements.
        var forgingPort: Int

        /// The port that an attack is for.
        func port(under attack: AttackName, host: Int) throws -> Int {
            switch attack {
            case .announcements, .formerTags: forgingPort
            case .joiningPort: Int(try worker.order(.invite).number ?? 0)
            default: host
            }
        }

        /// Ends what was begun for an attack.
        func end(_ attack: AttackName) throws {
            switch attack {
            case .announcements, .formerTags: try worker.order(.dropForged)
            case .joiningPort: try worker.order(.endInviting)
            default: break
            }
        }
    }

    private func measure(
        _ attack: AttackName,
        on contestant: ContestantName,
        port: Int,
        _ caller: Worker,
        _ victim: Victim?,
        _ next: inout Int
    ) throws -> Report.Attack {
        var normal = Series(subject: "normal")
        var attacked = Series(subject: "attacked")
        var normalAdded = Series(subject: "normal")
        var attackedAdded = Series(subject: "attacked")
        var shares: [Double] = []
        for _ in 0..<plan.attackRounds {
            normal.append(try pace(caller))
            if let victim { normalAdded.append(try add(&next, watchedBy: victim.worker)) }
            let attacker = try attackWorker()
            defer { attacker.stop() }
            let target = try victim?.port(under: attack, host: port) ?? port
            do {
                try attacker.beginLimit()
                defer { shares.append(attacker.endLimit()) }
                try attacker.order(.startAttack(attack, contestant, port: target))
                usleep(plan.attackLead)
                attacked.append(try pace(caller))
                if let victim { attackedAdded.append(try add(&next, watchedBy: victim.worker)) }
                try attacker.order(.stopAttack)
            }
            attacker.stop()
            if victim != nil { removeAdvertisements(butOf: port) }
            // The attacked side closes what is left.
            usleep(plan.attackLead)
            try victim?.end(attack)
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
            attackerPercent: shares.max()
        )
    }

    private func pace(_ caller: Worker) throws -> Measurement? {
        try caller.order(.pace(count: plan.pacedMessages, intervalNanoseconds: 1_000_000)).measurement
    }

    /// Starts a new system in a process of its own, and returns the time until the watcher has added it.
    private func add(_ next: inout Int, watchedBy victim: Worker) throws -> Measurement {
        let number = next
        next += 1
        let host = try attackWorker("pack")
        defer { host.stop() }
        let start = monotonicNanoseconds()
        try host.order(.startHosts(number..<(number + 1), folder: AttackedSystem.folder))
        let added = try victim.order(.awaitSystem("System \(number)", seconds: 30)).number ?? 0
        return Measurement(nanoseconds: [added - start], elapsedNanoseconds: added - start)
    }

    /// Removes the advertisements of processes that were stopped.
    private func removeAdvertisements(butOf port: Int) {
        let folder = "\(attackDirectory)/\(AttackedSystem.folder)"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let text = (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)) ?? ""
            if text.contains("\"port\":\(port)") { continue }
            try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
    }
}
