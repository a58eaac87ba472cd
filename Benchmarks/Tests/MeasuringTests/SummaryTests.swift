// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Measuring

struct SummaryTests {
    @Test(arguments: [(1, 1.0, 1.0), (2, 1.0, 2.0), (100, 50.0, 99.0), (1000, 500.0, 990.0)])
    func `percentiles are samples, by nearest rank`(count: Int64, p50: Double, p99: Double) throws {
        let shuffled = (1...count).shuffled()
        let summary = try #require(Summary(Measurement(nanoseconds: shuffled, elapsedNanoseconds: 1)))
        #expect(summary.median == p50)
        #expect(summary.p99 == p99)
    }

    @Test func `a rate counts whole operations over the elapsed time`() throws {
        let summary = try #require(
            Summary(Measurement(nanoseconds: [10, 10, 10], elapsedNanoseconds: 1_000_000_000))
        )
        #expect(summary.perSecond == 3)
    }

    @Test func `nothing measured is no summary`() {
        #expect(Summary(Measurement(nanoseconds: [], elapsedNanoseconds: 10)) == nil)
    }
}

struct SeriesTests {
    private func series(_ subject: String, medians: [Int64?]) -> Series {
        var series = Series(subject: subject)
        for median in medians {
            series.append(median.map { Measurement(nanoseconds: [$0], elapsedNanoseconds: $0) })
        }
        series.seal()
        return series
    }

    @Test func `a ratio compares rounds with their own counterpart`() {
        // Dividing the medians instead would give 100 / 20 on a machine that slows down half-way.
        let peer = series("peer", medians: [10, 20, 100])
        let mine = series("mine", medians: [20, 100, 200])
        #expect(mine.ratio(to: peer, \.median) == 2)
    }

    @Test func `a round that failed on one side is left out of the ratio`() {
        let peer = series("peer", medians: [10, nil, 10])
        let mine = series("mine", medians: [30, 10, 30])
        #expect(mine.ratio(to: peer, \.median) == 3)
    }

    @Test func `pooled percentiles see every round's samples`() {
        let pooled = series("mine", medians: [1, 2, 3]).pooled
        #expect(pooled?.count == 3)
        #expect(pooled?.maximum == 3)
    }
}
