// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The rounds of one subject under one load.
package struct Series: Codable, Hashable, Sendable {
    /// The contestant or coder.
    package var subject: String
    /// One summary per round; nil for a round in which the subject failed.
    package private(set) var rounds: [Summary?] = []
    /// The summary of the samples of all rounds together.
    package private(set) var pooled: Summary?

    /// The samples until ``seal()``, which releases them to save memory in long runs.
    private var samples: [Int64] = []
    private var elapsed: Int64 = 0

    private enum CodingKeys: CodingKey {
        case subject, rounds, pooled
    }

    package init(subject: String) {
        self.subject = subject
    }

    package mutating func append(_ measurement: Measurement?) {
        rounds.append(measurement.flatMap(Summary.init))
        guard let measurement else { return }
        samples += measurement.nanoseconds
        elapsed += measurement.elapsedNanoseconds
    }

    /// Computes ``pooled``. Nothing may be appended afterwards.
    package mutating func seal() {
        pooled = Summary(Measurement(nanoseconds: samples, elapsedNanoseconds: elapsed))
        samples = []
    }

    /// The median of a figure over the rounds.
    package func median(_ figure: (Summary) -> Double) -> Double? {
        rounds.compactMap { $0.map(figure) }.median
    }

    /// The median over the rounds of this subject's figure divided by the other's figure of the same round.
    ///
    /// The rounds are interleaved, so a temporary disturbance of the machine affects both sides of a ratio equally.
    package func ratio(to other: Series, _ figure: (Summary) -> Double) -> Double? {
        zip(rounds, other.rounds).compactMap { mine, theirs -> Double? in
            guard let mine, let theirs, figure(theirs) > 0 else { return nil }
            return figure(mine) / figure(theirs)
        }.median
    }
}
