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
        func ratio(_ load: Load, to peer: ContestantName, _ figure: (Summary) -> Double) -> Double? {
            guard let ours = exchange(load, .ours), let peer = exchange(load, peer) else { return nil }
            return ours.ratio(to: peer, figure)
        }
        let codingGoals = CodingTask.all.map { task in
            Goal(
                "\(task.title), speed to JSON's",
                .atLeast,
                10,
                "×",
                figure: coding(task, .ours).flatMap { ours in
                    // Speed is the inverse of time, so JSON's time is the numerator.
                    coding(task, .json)?.ratio(to: ours, \.median)
                }
            )
        }
        let opening = openings.first { $0.subject == ContestantName.ours.rawValue }
        return [
            Goal(
                "median round trip to raw TLS",
                .atMost,
                1.25,
                "×",
                figure: ratio(.roundTrip, to: .rawTLS, \.median)
            ),
            Goal(
                "median round trip to a D-Bus call",
                .atMost,
                0.75,
                "×",
                figure: ratio(.roundTrip, to: .sdBus, \.median)
            ),
            Goal("pipelined rate to raw TLS", .atLeast, 0.5, "×", figure: ratio(.pipelined, to: .rawTLS, \.perSecond)),
            Goal(
                "pipelined rate to a gRPC stream",
                .atLeast,
                4,
                "×",
                figure: ratio(.pipelined, to: .grpcStream, \.perSecond)
            ),
            Goal("bulk rate to raw TLS", .atLeast, 0.9, "×", figure: ratio(.bulk, to: .rawTLS, \.perSecond)),
            Goal(
                "bulk rate of a stream to a raw TLS stream",
                .atLeast,
                0.95,
                "×",
                figure: exchange(.bulk, .oursStream).flatMap { stream in
                    exchange(.bulk, .rawTLSStreamed).flatMap { stream.ratio(to: $0, \.perSecond) }
                }
            ),
            Goal("opening a connection", .atMost, 3, "ms", figure: opening?.median(\.median).map { $0 / 1e6 }),
        ] + codingGoals + [
            Goal("host start to added", .atMost, 300, "ms", figure: startToAdded?.median(\.median).map { $0 / 1e6 }),
            Goal("already present", .atMost, 50, "ms", figure: alreadyPresent?.median(\.median).map { $0 / 1e6 }),
        ]
    }
}
