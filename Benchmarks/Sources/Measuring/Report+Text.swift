// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension Report {
    /// The report as text, at most ``Table/widestLine`` columns wide.
    package var text: String {
        var parts = [conditions]
        parts += exchanges.filter { !$0.series.isEmpty }.map { Self.table(for: $0).description }
        if !openings.isEmpty { parts.append(openingTable.description) }
        if !memory.isEmpty { parts.append(memoryTable.description) }
        if !allocations.isEmpty { parts.append(allocationTable.description) }
        parts += codings.map { Self.table(for: $0).description }
        if [startToAdded, alreadyPresent, knownSystem].contains(where: { $0 != nil }) {
            parts.append(discoveryTable.description)
        }
        if !scale.isEmpty { parts += [scaleTable.description, scaleHostTable.description] }
        if handOff != nil { parts += [handOffTable.description, handOffStreamTable.description] }
        if !attacks.isEmpty { parts.append(attackTable.description) }
        parts.append(goalTable.description)
        if !failures.isEmpty { parts.append((["Failures"] + failures.map { "  \($0)" }).joined(separator: "\n")) }
        return parts.joined(separator: "\n\n") + "\n"
    }

    private var conditions: String {
        """
        \(machine.processor), \(machine.cores) cores, \(machine.kernel)
        \(rounds) interleaved rounds; load average \(machine.loadBefore.formatted(decimals: 2)) before, \
        \(machine.loadAfter.formatted(decimals: 2)) after; cores \(coresSlept ? "could sleep" : "were kept awake")
        """
    }

    private static func table(for exchange: Exchange) -> Table {
        let baseline = exchange.series.first { $0.subject == ContestantName.rawTLS.rawValue }
        var table = Table(
            title: exchange.load.title,
            header: ["", "median µs", "p99 µs", "messages/s", "MB/s", "× raw time", "× raw rate"]
        )
        for series in exchange.series {
            let rate = series.median(\.perSecond)
            table.append([
                series.subject,
                series.median { $0.median / 1e3 }.formatted,
                series.pooled.map { $0.p99 / 1e3 }.formatted,
                rate.map { $0.formatted(decimals: 0) } ?? "–",
                rate.map { $0 * Double(exchange.load.bytes) / 1e6 }.formatted,
                baseline.flatMap { series.ratio(to: $0, \.median) }.formatted,
                baseline.flatMap { series.ratio(to: $0, \.perSecond) }.formatted,
            ])
        }
        return table
    }

    private var openingTable: Table {
        let baseline = openings.first { $0.subject == ContestantName.rawTLS.rawValue }
        var table = Table(
            title: "Opening a connection, up to its first response",
            header: ["", "median ms", "p99 ms", "× raw time"]
        )
        for series in openings {
            table.append([
                series.subject,
                series.median { $0.median / 1e6 }.formatted,
                series.pooled.map { $0.p99 / 1e6 }.formatted,
                baseline.flatMap { series.ratio(to: $0, \.median) }.formatted,
            ])
        }
        return table
    }

    private var memoryTable: Table {
        var table = Table(
            title: "Memory of an idle connection (private resident memory)",
            header: ["", "connections", "opened in s", "caller KiB", "server KiB"]
        )
        for entry in memory {
            table.append([
                entry.subject, "\(entry.connections)", entry.openingSeconds.formatted,
                (entry.callerBytesPerConnection / 1024).formatted,
                (entry.serverBytesPerConnection / 1024).formatted,
            ])
        }
        return table
    }

    private var allocationTable: Table {
        var table = Table(
            title: "Allocations (calls of the allocator)",
            header: ["", "round trip: caller", "server", "connection: caller", "server"]
        )
        for entry in allocations {
            table.append([
                entry.subject,
                entry.callerPerRoundTrip.formatted, entry.serverPerRoundTrip.formatted,
                entry.callerPerConnection.formatted, entry.serverPerConnection.formatted,
            ])
        }
        return table
    }

    private static func table(for coding: Coding) -> Table {
        let baseline = coding.series.first { $0.subject == CoderName.json.rawValue }
        var table = Table(
            title: coding.task.title.prefix(1).uppercased() + coding.task.title.dropFirst(),
            header: ["", "bytes", "median µs", "p99 µs", "× JSON's speed"]
        )
        for series in coding.series {
            table.append([
                series.subject,
                coding.encodedBytes[series.subject].map { Double($0).formatted(decimals: 0) } ?? "–",
                series.median { $0.median / 1e3 }.formatted,
                series.pooled.map { $0.p99 / 1e3 }.formatted,
                baseline.flatMap { $0.ratio(to: series, \.median) }.formatted,
            ])
        }
        return table
    }

    private var discoveryTable: Table {
        var table = Table(title: "Discovery", header: ["", "median ms", "longest ms"])
        let rows = [
            ("host start to added", startToAdded), ("already present", alreadyPresent),
            ("known system without multicast", knownSystem),
        ]
        for (title, series) in rows {
            table.append([
                title,
                series?.median { $0.median / 1e6 }.formatted ?? "–",
                (series?.pooled?.maximum).map { ($0 / 1e6).formatted } ?? "–",
            ])
        }
        return table
    }

    private var goalTable: Table {
        var table = Table(title: "Goals", header: ["", "goal", "found", "verdict"])
        for goal in goals {
            table.append([
                goal.title,
                "\(goal.bound.rawValue) \(goal.limit.formatted) \(goal.unit)",
                goal.figure.map { "\($0.formatted) \(goal.unit)" } ?? "–",
                goal.verdict.rawValue,
            ])
        }
        return table
    }
}
