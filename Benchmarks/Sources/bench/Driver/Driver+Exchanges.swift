// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring

extension Driver {
    /// Measures exchanges and openings. All pairs run during the whole measurement and take turns in every round.
    mutating func measurePairs() {
        var pairs = startPairs()
        defer { pairs.forEach { $0.stop() } }
        let loads = plan.parts.contains(.exchange) ? Load.all : []
        warmUp(&pairs, with: loads)
        var exchanges: [Load: [ContestantName: Series]] = [:]
        var openings: [ContestantName: Series] = [:]
        for round in 0..<plan.rounds where !pairs.isEmpty {
            progress("round \(round + 1) of \(plan.rounds)")
            // Each round starts with another pair, so that no pair always runs after the most demanding one.
            let turn = round % pairs.count
            let order = pairs[turn...] + pairs[..<turn]
            for load in loads {
                for pair in order {
                    exchanges[load, default: [:]][pair.name, default: Series(subject: pair.name.rawValue)]
                        .append(ask(pair, .exchange(load, plan.exchange), load.title, dismissing: &pairs))
                }
            }
            guard plan.parts.contains(.opening) else { continue }
            for pair in order {
                openings[pair.name, default: Series(subject: pair.name.rawValue)]
                    .append(ask(pair, .open(plan.opening), "opening", dismissing: &pairs))
            }
        }
        report.exchanges = loads.map { load in
            Report.Exchange(load: load, series: sealed(exchanges[load] ?? [:]))
        }
        report.openings = sealed(openings)
    }

    private mutating func warmUp(_ pairs: inout [Pair], with loads: [Load]) {
        progress("warming up")
        for pair in pairs {
            for load in loads {
                _ = ask(pair, .rehearse(load, plan.warmUp), "warming up, \(load.title)", dismissing: &pairs)
            }
            _ = ask(pair, .open(Limit(count: 10, seconds: 2)), "warming up, opening", dismissing: &pairs)
        }
    }

    /// Returns the measurement; nil if the pair fails now or failed before.
    private mutating func ask(
        _ pair: Pair,
        _ order: Order,
        _ action: String,
        dismissing pairs: inout [Pair]
    ) -> Measurement? {
        guard let index = pairs.firstIndex(where: { $0.name == pair.name }) else { return nil }
        do {
            return try pair.caller.order(order).measurement
        } catch {
            note(pair.name.rawValue, action, error)
            pairs.remove(at: index).stop()
            return nil
        }
    }

    private func sealed(_ series: [ContestantName: Series]) -> [Series] {
        plan.contestants.compactMap { name in
            guard var sealed = series[name] else { return nil }
            sealed.seal()
            return sealed
        }
    }
}
