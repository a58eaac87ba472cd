// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A published goal of the project, with the figure of this run.
package struct Goal: Codable, Hashable, Sendable {
    package enum Bound: String, Codable, Sendable {
        case atMost = "≤"
        case atLeast = "≥"
    }

    package enum Verdict: String, Codable, Sendable {
        case met
        case notMet = "not met"
        case notMeasured = "not measured"
    }

    package var title: String
    package var bound: Bound
    package var limit: Double
    package var unit: String
    package var figure: Double?
    package var verdict: Verdict

    package init(_ title: String, _ bound: Bound, _ limit: Double, _ unit: String, figure: Double?) {
        self.title = title
        self.bound = bound
        self.limit = limit
        self.unit = unit
        self.figure = figure
        verdict =
            switch (figure, bound) {
            case (nil, _): .notMeasured
            case (let figure?, .atMost): figure <= limit ? .met : .notMet
            case (let figure?, .atLeast): figure >= limit ? .met : .notMet
            }
    }
}

extension Report {
    /// The project's goals, compared with the figures of this report.
    package func evaluatedGoals() -> [Goal] {
        roundTripGoals + rateGoals + connectionGoals
            + CodingTask.all.map { task in
                Goal(
                    "\(task.title), speed to JSON's",
                    .atLeast,
                    10,
                    "×",
                    // Speed is the inverse of time, so JSON's time is the numerator.
                    figure: ratio(coding(task, .json), to: coding(task, .ours), \.median)
                )
            } + [
                Goal("host start to added", .atMost, 300, "ms", figure: milliseconds(startToAdded)),
                Goal("already present", .atMost, 50, "ms", figure: milliseconds(alreadyPresent)),
                Goal("known system without multicast", .atMost, 50, "ms", figure: milliseconds(knownSystem)),
                Goal("1 000 systems watched, memory", .atMost, 64, "MiB", figure: watching.map(\.watcherMebibytes)),
                Goal(
                    "1 000 systems watched, idle",
                    .atMost,
                    2,
                    "% of a core",
                    figure: watching.flatMap(\.watcherIdlePercent)
                ),
            ] + handOffGoals + attackGoals
    }

    /// The figures of one watcher that lists 1 000 systems.
    private var watching: Scale? { scale.first { $0.watchers == 1 && $0.systems == 1000 } }

    private var roundTripGoals: [Goal] {
        let goals: [(title: String, contestant: ContestantName, peer: ContestantName, limit: Double)] = [
            ("round trip to raw TLS", .ours, .rawTLS, 1.15),
            ("round trip to a D-Bus call", .ours, .sdBus, 0.7),
            ("round trip from any task to raw TLS", .oursFromPool, .rawTLS, 1.7),
            ("round trip from any task to raw TLS from a task", .oursFromPool, .rawTLSFromPool, 1.2),
            ("round trip from any task to a D-Bus call", .oursFromPool, .sdBus, 1),
        ]
        return goals.map { goal in
            let figure = ratio(exchange(.roundTrip, goal.contestant), to: exchange(.roundTrip, goal.peer), \.median)
            return Goal(goal.title, .atMost, goal.limit, "×", figure: figure)
        }
    }

    private var rateGoals: [Goal] {
        let goals: [(title: String, load: Load, contestant: ContestantName, peer: ContestantName, limit: Double)] = [
            ("pipelined rate to raw TLS", .pipelined, .ours, .rawTLS, 0.7),
            ("pipelined rate from any task to raw TLS", .pipelined, .oursFromPool, .rawTLS, 0.6),
            ("pipelined rate to a gRPC stream", .pipelined, .ours, .grpcStream, 6),
            ("bulk rate to raw TLS", .bulk, .ours, .rawTLS, 0.9),
            ("bulk rate of a stream to a raw TLS stream", .bulk, .oursStream, .rawTLSStreamed, 0.95),
        ]
        return goals.map { goal in
            let figure = ratio(exchange(goal.load, goal.contestant), to: exchange(goal.load, goal.peer), \.perSecond)
            return Goal(goal.title, .atLeast, goal.limit, "×", figure: figure)
        }
    }

    private var connectionGoals: [Goal] {
        func opening(_ name: ContestantName) -> Series? { openings.first { $0.subject == name.rawValue } }
        func memory(_ bytes: (Memory) -> Double) -> Double? {
            guard let ours = self.memory.first(where: { $0.subject == ContestantName.ours.rawValue }),
                let raw = self.memory.first(where: { $0.subject == ContestantName.rawTLS.rawValue }), bytes(raw) > 0
            else { return nil }
            return bytes(ours) / bytes(raw)
        }
        return [
            Goal(
                "opening a connection to raw TLS",
                .atMost,
                1.2,
                "×",
                figure: ratio(opening(.ours), to: opening(.rawTLS), \.median)
            ),
            Goal(
                "idle connection, caller's memory to raw TLS",
                .atMost,
                1.2,
                "×",
                figure: memory(\.callerBytesPerConnection)
            ),
            Goal(
                "idle connection, host's memory to raw TLS",
                .atMost,
                1.2,
                "×",
                figure: memory(\.serverBytesPerConnection)
            ),
        ]
    }

    private func ratio(_ series: Series?, to peer: Series?, _ figure: (Summary) -> Double) -> Double? {
        guard let series, let peer else { return nil }
        return series.ratio(to: peer, figure)
    }

    private func milliseconds(_ series: Series?) -> Double? { series?.median(\.median).map { $0 / 1e6 } }
}
