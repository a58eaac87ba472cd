// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension Report {
    /// The figures of one contestant under one attack.
    package struct Attack: Codable, Sendable {
        package var attack: AttackName
        package var contestant: ContestantName
        /// The round trips of a peer, one each millisecond, before and during the attack.
        package var normal: Series
        package var attacked: Series
        /// The times from the start of a system until a watcher adds it; nil where nothing is discovered.
        package var normalAdded: Series?
        package var attackedAdded: Series?
        /// The maximum of this percentage above which a row is marked.
        package static let maxAttackerPercent = 30.0

        /// The processor time of the attackers, in percent of a core, in the round with the most; nil if no round was
        /// measured.
        package var attackerPercent: Double?

        package init(
            attack: AttackName,
            contestant: ContestantName,
            normal: Series,
            attacked: Series,
            normalAdded: Series? = nil,
            attackedAdded: Series? = nil,
            attackerPercent: Double?
        ) {
            self.attack = attack
            self.contestant = contestant
            self.normal = normal
            self.attacked = attacked
            self.normalAdded = normalAdded
            self.attackedAdded = attackedAdded
            self.attackerPercent = attackerPercent
        }

        /// The attackers' processor time as text, marked if they did not keep to their limit.
        fileprivate var attackerShare: String {
            let isMarked = attackerPercent.map { $0 > Self.maxAttackerPercent } ?? false
            return attackerPercent.formatted + (isMarked ? " !" : "")
        }

        /// The 99th percentile under attack, relative to the normal one.
        package var latencyRatio: Double? { attacked.ratio(to: normal, \.p99) }

        /// The time to be added under attack, relative to the normal one.
        package var addedRatio: Double? {
            guard let normalAdded, let attackedAdded else { return nil }
            return attackedAdded.ratio(to: normalAdded, \.median)
        }
    }

    var attackTable: Table {
        var table = Table(
            title: "Under attack, by attackers that use at most a quarter of a core (!: more than 30 %)",
            header: ["", "p99 µs", "attacked", "×", "added ms", "attacked", "×", "attackers %"]
        )
        for entry in attacks {
            table.append([
                "\(entry.attack.rawValue), \(entry.contestant.rawValue)",
                entry.normal.median { $0.p99 / 1e3 }.formatted, entry.attacked.median { $0.p99 / 1e3 }.formatted,
                entry.latencyRatio.formatted,
                (entry.normalAdded?.median { $0.median / 1e6 }).formatted,
                (entry.attackedAdded?.median { $0.median / 1e6 }).formatted,
                entry.addedRatio.formatted, entry.attackerShare,
            ])
        }
        return table
    }

    /// The worst figure of all attacks counts.
    var attackGoals: [Goal] {
        let ours = attacks.filter { $0.contestant == .ours }
        return [
            Goal("p99 under attack to normal", .atMost, 3, "×", figure: ours.compactMap(\.latencyRatio).max()),
            Goal(
                "time to be added under attack to normal",
                .atMost,
                2,
                "×",
                figure: ours.compactMap(\.addedRatio).max()
            ),
        ]
    }
}
