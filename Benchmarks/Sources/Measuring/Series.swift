// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// One subject's rounds under one load.
package struct Series: Codable, Hashable, Sendable {
    /// The contestant or coder.
    package var subject: String
    /// One entry a round; nil where the subject failed in that round.
    package private(set) var rounds: [Summary?] = []
    /// All rounds' samples together.
    package private(set) var pooled: Summary?

    /// Held only until ``seal()``, so that a long run does not keep every sample to its end.
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

    /// Sums up what was appended; nothing may be appended after it.
    package mutating func seal() {
        pooled = Summary(Measurement(nanoseconds: samples, elapsedNanoseconds: elapsed))
        samples = []
    }

    /// The median over the rounds of a figure.
    package func median(_ figure: (Summary) -> Double) -> Double? {
        rounds.compactMap { $0.map(figure) }.median
    }

    /// The median over the rounds of this subject's figure divided by the other's figure of the same round.
    ///
    /// The rounds are interleaved, so what disturbs the machine for a while disturbs both sides of a ratio alike.
    package func ratio(to other: Series, _ figure: (Summary) -> Double) -> Double? {
        zip(rounds, other.rounds).compactMap { mine, theirs -> Double? in
            guard let mine, let theirs, figure(theirs) > 0 else { return nil }
            return figure(mine) / figure(theirs)
        }.median
    }
}
