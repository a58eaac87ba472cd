// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Measuring

extension Driver {
    /// The numbers of systems and the folders of their advertisements.
    private enum Place {
        static let watched = "watched"
        static let meshed = "meshed"
    }

    /// Measures one watcher of many systems. System 0 invites the others: the watched ones, then the watchers.
    mutating func measureScale() {
        do {
            let watched = plan.watchedSystems.max() ?? 0
            try createSystems(1..<(1 + watched + plan.watchedSystems.count))
            try measureWatchers()
        } catch {
            note("many systems", "measuring", error)
        }
    }

    /// Measures a mesh of systems that watch each other.
    mutating func measureMesh() {
        // Beside the systems of ``measureScale()``.
        let systems = 10_000..<(10_000 + plan.meshedSystems)
        do {
            try createSystems(systems)
            try measureMesh(systems)
        } catch {
            note("mesh", "measuring", error)
        }
    }

    func createSystems(_ systems: Range<Int>) throws {
        progress("creating \(systems.count) systems")
        let creator = try pack()
        defer { creator.stop() }
        try creator.order(.createSystems(systems), within: 300)
    }

    /// Starts a process of many systems.
    func pack() throws -> Worker {
        try Worker(["pack"], setup: Setup(credentials: credentials, directory: plan.directory))
    }

    private mutating func measureWatchers() throws {
        var hosts: [Worker] = []
        defer { hosts.forEach { $0.stop() } }
        let firstWatcher = 1 + (plan.watchedSystems.max() ?? 0)
        for (index, count) in plan.watchedSystems.enumerated() {
            progress("watching \(count) systems")
            while hosts.count * plan.hostsPerProcess < count {
                let first = 1 + hosts.count * plan.hostsPerProcess
                let host = try pack()
                hosts.append(host)
                try host.order(.startHosts(first..<(first + plan.hostsPerProcess), folder: Place.watched))
            }
            // A process needs no system of its own in memory before it has one.
            let empty = try pack()
            let emptyBytes = try empty.privateBytes()
            empty.stop()
            let system = (firstWatcher + index)..<(firstWatcher + index + 1)
            report.scale.append(
                try watch(count, by: system, over: hosts, emptyBytes: emptyBytes, isFirst: true)
            )
            // The second process finds in the state directory where the systems were.
            report.scale.append(
                try watch(count, by: system, over: hosts, emptyBytes: emptyBytes, isFirst: false)
            )
        }
    }

    private func watch(
        _ count: Int,
        by system: Range<Int>,
        over hosts: [Worker],
        emptyBytes: Int64,
        isFirst: Bool
    ) throws -> Report.Scale {
        let watcher = try pack()
        defer { watcher.stop() }
        let ready = (watcher: try watcher.privateBytes(), hosts: try hosts.map { try $0.privateBytes() }.reduce(0, +))
        let listingSeconds = try list(count, with: [watcher], [system], folder: Place.watched)
        let idle = isFirst ? try idlePercent([watcher] + hosts) : []
        let hostBytes = try hosts.map { try $0.privateBytes() }.reduce(0, +)
        let watcherBytes = Double(try watcher.privateBytes())
        let counts = try watcher.order(.countWatched).watched ?? WatchedCounts()
        return Report.Scale(
            subject: isFirst ? "\(count) systems" : "\(count) known systems",
            systems: count,
            watchers: 1,
            listingSeconds: listingSeconds,
            connections: counts.opened,
            failedAttempts: counts.failed,
            watcherBytes: watcherBytes,
            watcherBytesPerConnection: (watcherBytes - Double(ready.watcher)) / Double(count),
            watcherIdlePercent: idle.first,
            watcherThreads: watcher.threads(),
            watcherDescriptors: watcher.descriptors(),
            hosts: isFirst
                ? Report.Scale.Hosts(
                    count: count,
                    processes: hosts.count,
                    bytesPerHost: Double(ready.hosts - emptyBytes * Int64(hosts.count)) / Double(count),
                    bytesPerConnection: Double(hostBytes - ready.hosts) / Double(count),
                    idlePercentPerHost: idle.dropFirst().reduce(0, +) / Double(count)
                ) : nil
        )
    }

    private mutating func measureMesh(_ systems: Range<Int>) throws {
        progress("a mesh of \(systems.count) systems")
        let each = systems.count / plan.meshProcesses
        let shares = (0..<plan.meshProcesses).map { part in
            (systems.lowerBound + part * each)..<(systems.lowerBound + (part + 1) * each)
        }
        var packs: [Worker] = []
        defer { packs.forEach { $0.stop() } }
        for share in shares {
            let pack = try pack()
            packs.append(pack)
            try pack.order(.startHosts(share, folder: Place.meshed))
        }
        let ready = try packs.map { try $0.privateBytes() }.reduce(0, +)
        let listingSeconds = try list(systems.count - 1, with: packs, shares, folder: Place.meshed)
        let idle = try idlePercent(packs)
        let bytes = try packs.map { try $0.privateBytes() }.reduce(0, +)
        let counts = try packs.compactMap { try $0.order(.countWatched).watched }
        let connections = counts.map(\.opened).reduce(0, +)
        let processes = Double(packs.count)
        report.scale.append(
            Report.Scale(
                subject: "mesh of \(systems.count), each process",
                systems: systems.count - 1,
                watchers: systems.count,
                listingSeconds: listingSeconds,
                connections: connections,
                failedAttempts: counts.map(\.failed).reduce(0, +),
                watcherBytes: Double(bytes) / processes,
                // Both ends of each connection are in these processes.
                watcherBytesPerConnection: Double(bytes - ready) / Double(max(2 * connections, 1)),
                watcherIdlePercent: idle.reduce(0, +) / processes,
                watcherThreads: packs[0].threads(),
                watcherDescriptors: packs[0].descriptors(),
                hosts: nil
            )
        )
    }

    /// Starts the watchers of all processes and waits until each lists so many systems.
    ///
    /// - Returns: the time from the first start, in seconds.
    func list(
        _ count: Int,
        with packs: [Worker],
        _ watchers: [Range<Int>],
        folder: String
    ) throws -> Double {
        for (pack, numbers) in zip(packs, watchers) { try pack.send(.startWatchers(numbers, folder: folder)) }
        let starts = try packs.map { try $0.response(within: 60).number ?? 0 }
        for pack in packs { try pack.send(.awaitListed(count, seconds: 60)) }
        let ends = try packs.map { try $0.response(within: 90).number ?? 0 }
        guard let start = starts.min(), let end = ends.max() else { return .nan }
        return Double(end - start) / 1e9
    }

    /// Returns the processor time that each process uses while nothing happens, in percent of a core.
    private func idlePercent(_ workers: [Worker]) throws -> [Double] {
        // What watchers learned of the systems is stored after three seconds.
        usleep(plan.quick ? 500_000 : 6_000_000)
        let before = try workers.map { try $0.processorSeconds() }
        let start = monotonicNanoseconds()
        usleep(UInt32(plan.idleSeconds * 1e6))
        let seconds = Double(monotonicNanoseconds() - start) / 1e9
        return try zip(workers, before).map { worker, before in
            100 * (try worker.processorSeconds() - before) / seconds
        }
    }
}
