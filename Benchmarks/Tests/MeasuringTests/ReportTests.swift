// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Measuring

struct GoalTests {
    private func report(ours: Int64?, raw: Int64, load: Load = .roundTrip) -> Report {
        func series(_ name: ContestantName, _ nanoseconds: Int64) -> Series {
            var series = Series(subject: name.rawValue)
            series.append(Measurement(nanoseconds: [nanoseconds], elapsedNanoseconds: nanoseconds))
            series.seal()
            return series
        }
        var report = Report(
            machine: .init(processor: "p", cores: 2, kernel: "k", loadBefore: 0, loadAfter: 0),
            rounds: 1,
            coresSlept: false
        )
        report.exchanges = [
            .init(load: load, series: [series(.rawTLS, raw)] + (ours.map { [series(.ours, $0)] } ?? []))
        ]
        return report
    }

    @Test(arguments: [(Int64(115), Goal.Verdict.met), (116, .notMet)])
    func `a round trip is held against raw TLS of the same run`(ours: Int64, verdict: Goal.Verdict) {
        let goal = report(ours: ours, raw: 100).evaluatedGoals().first
        #expect(goal?.verdict == verdict)
    }

    @Test func `a rate goal is met from above`() throws {
        let goals = report(ours: 125, raw: 100, load: .pipelined).evaluatedGoals()
        let goal = try #require(goals.first { $0.title == "pipelined rate to raw TLS" })
        #expect(goal.figure == 0.8)
        #expect(goal.verdict == .met)
    }

    @Test func `what was not measured is not met either`() {
        let goals = report(ours: nil, raw: 100).evaluatedGoals()
        #expect(goals.allSatisfy { $0.verdict == .notMeasured })
    }
}

struct HandOffReportTests {
    /// A report in which a transfer of each kind takes so many nanoseconds.
    private func report(streamed: Int64, files: Int64, raw: Int64, rawArrays: Int64?, rawFiles: Int64?) -> Report {
        func measurement(_ nanoseconds: Int64) -> Measurement {
            Measurement(nanoseconds: [nanoseconds], elapsedNanoseconds: nanoseconds)
        }
        var report = Report(
            machine: .init(processor: "p", cores: 2, kernel: "k", loadBefore: 0, loadAfter: 0),
            rounds: 1,
            coresSlept: false
        )
        var handOff = Report.HandOff()
        handOff.streamed.append(measurement(streamed))
        handOff.files.append(measurement(files))
        handOff.rawTLS.append(measurement(raw))
        handOff.rawArrays.append(rawArrays.map(measurement))
        handOff.rawFiles.append(rawFiles.map(measurement))
        handOff.seal()
        report.handOff = handOff
        report.goals = report.evaluatedGoals()
        return report
    }

    private func verdict(_ title: String, _ report: Report) -> Goal.Verdict? {
        report.goals.first { $0.title == title }?.verdict
    }

    @Test func `a continuation stream is compared with TLS, and with TLS that has its interface`() {
        let report = report(streamed: 125, files: 250, raw: 100, rawArrays: 120, rawFiles: 200)
        #expect(verdict("continuation stream to a raw TLS stream", report) == .notMet)
        #expect(verdict("continuation stream to raw TLS with arrays", report) == .met)
        #expect(verdict("continuation stream, file to raw TLS with files", report) == .notMet)
    }

    @Test func `without a control, its goal is not measured`() {
        let report = report(streamed: 100, files: 100, raw: 100, rawArrays: nil, rawFiles: nil)
        #expect(verdict("continuation stream to a raw TLS stream", report) == .met)
        #expect(verdict("continuation stream to raw TLS with arrays", report) == .notMeasured)
        #expect(verdict("continuation stream, file to raw TLS with files", report) == .notMeasured)
    }

    @Test func `the table of streams compares all rates with bare TLS`() {
        let report = report(streamed: 125, files: 250, raw: 100, rawArrays: 200, rawFiles: 200)
        let rows: [[String?]] = report.handOffStreamTable.rows.map { [$0.first, $0.last] }
        let expected: [[String?]] = [
            ["raw-tls-streamed", "1.00"], ["raw-tls-arrays", "0.50"], ["continuation stream", "0.80"],
            ["raw-tls-files", "0.50"], ["continuation stream, file", "0.40"],
        ]
        #expect(rows == expected)
        #expect(report.text.split(separator: "\n").allSatisfy { $0.count <= Table.widestLine })
    }

    @Test func `the controls of hand-off exchange no messages`() {
        let others = Set(ContestantName.allCases).subtracting(ContestantName.ofAllParts)
        #expect(others == [.rawTLSArrays, .rawTLSFiles])
    }
}

struct AttackReportTests {
    @Test(arguments: [(25.1, "25.1"), (30.0, "30.0"), (30.4, "30.4 !"), (nil, "–")] as [(Double?, String)])
    func `a row is marked whose attackers used more than their limit`(percent: Double?, text: String) {
        var report = Report(
            machine: .init(processor: "p", cores: 2, kernel: "k", loadBefore: 0, loadAfter: 0),
            rounds: 1,
            coresSlept: false
        )
        report.attacks = AttackName.allCases.map { attack in
            var series = Series(subject: "normal")
            series.append(Measurement(nanoseconds: [999_999_999], elapsedNanoseconds: 999_999_999))
            series.seal()
            return Report.Attack(
                attack: attack,
                contestant: .ours,
                normal: series,
                attacked: series,
                normalAdded: series,
                attackedAdded: series,
                attackerPercent: percent
            )
        }
        #expect(report.attackTable.rows.allSatisfy { $0.last == text })
        #expect(report.attackTable.rows.count == AttackName.allCases.count)
        #expect(report.text.split(separator: "\n").allSatisfy { $0.count <= Table.widestLine })
    }
}

struct TableTests {
    @Test(arguments: [
        (0.0, 2, "0.00"), (1.005, 1, "1.0"), (0.05, 2, "0.05"), (1234.5, 0, "1 235"), (1_234_567.25, 2, "1 234 567.25"),
        (-0.004, 2, "0.00"), (-12.5, 1, "-12.5"), (.nan, 2, "–"), (.infinity, 0, "–"),
    ])
    func `numbers are written with fixed decimals and groups`(number: Double, decimals: Int, text: String) {
        #expect(number.formatted(decimals: decimals) == text)
    }

    @Test func `columns line up`() {
        var table = Table(title: "T", header: ["", "µs"])
        table.append(["a", "1.0"])
        table.append(["long", "10.0"])
        #expect(table.description == "T\n          µs\n  a      1.0\n  long  10.0")
    }

    @Test func `no line of a full report is wider than promised`() {
        var report = Report(
            machine: .init(processor: "Processor", cores: 2, kernel: "Linux", loadBefore: 1, loadAfter: 2),
            rounds: 9,
            coresSlept: false
        )
        report.exchanges = Load.all.map { load in
            Report.Exchange(
                load: load,
                series: ContestantName.allCases.map { name in
                    var series = Series(subject: name.rawValue)
                    series.append(Measurement(nanoseconds: [999_999_999], elapsedNanoseconds: 100))
                    series.seal()
                    return series
                }
            )
        }
        report.goals = report.evaluatedGoals()
        #expect(report.text.split(separator: "\n").allSatisfy { $0.count <= Table.widestLine })
    }
}
