// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Measuring

extension Driver {
    /// Measures the time until a watcher adds a host: with the watcher started first, and with the host started first.
    mutating func measureDiscovery() {
        // The forms of a contestant differ in sending, not in discovery, so one is enough.
        for name in plan.contestants.filter({ contestant($0) is any DiscoveringContestant }).prefix(1) {
            progress("discovery by \(name.rawValue)")
            do {
                let pair = try Pair(name, credentials: credentials, directory: plan.directory)
                defer { pair.stop() }
                var startToAdded = Series(subject: name.rawValue)
                var alreadyPresent = Series(subject: name.rawValue)
                for _ in 0..<plan.discoveries {
                    try pair.caller.order(.startWatcher)
                    startToAdded.append(try interval(from: pair.server.order(.startHost), to: pair))
                    try pair.caller.order(.stopWatcher)
                    // mDNS does not repeat a record within 1 s (RFC 6762 section 6), and announcements are sent twice.
                    // After this wait, the host sends no announcement on its own.
                    usleep(3_000_000)
                    alreadyPresent.append(try interval(from: pair.caller.order(.startWatcher), to: pair))
                    try pair.caller.order(.stopWatcher)
                    try pair.server.order(.stopHost)
                }
                startToAdded.seal()
                alreadyPresent.seal()
                report.startToAdded = startToAdded
                report.alreadyPresent = alreadyPresent
            } catch {
                note(name.rawValue, "measuring discovery", error)
            }
        }
    }

    /// Measures the time until a watcher lists a system that it met before, where no announcement arrives.
    mutating func measureKnownSystem() {
        progress("a known system without multicast")
        // Beside the systems of ``measureScale()`` and ``measureMesh()``.
        let (host, watcher) = (20_000, 20_001)
        do {
            try createSystems(host..<(watcher + 1))
            let hosting = try pack()
            defer { hosting.stop() }
            try hosting.order(.startHosts(host..<(host + 1), folder: "announced"))
            let watching = try pack()
            defer { watching.stop() }
            // The first watcher meets the system. What it learned is stored when it stops.
            _ = try list(1, with: [watching], [watcher..<(watcher + 1)], folder: "announced")
            try watching.order(.stopWatcher)
            var series = Series(subject: ContestantName.ours.rawValue)
            for _ in 0..<plan.discoveries {
                let seconds = try list(1, with: [watching], [watcher..<(watcher + 1)], folder: "silent")
                let nanoseconds = Int64(seconds * 1e9)
                series.append(Measurement(nanoseconds: [nanoseconds], elapsedNanoseconds: max(nanoseconds, 1)))
                try watching.order(.stopWatcher)
            }
            series.seal()
            report.knownSystem = series
        } catch {
            note("a known system", "measuring discovery", error)
        }
    }

    private func interval(from start: Response, to pair: Pair) throws -> Measurement {
        let added = try pair.caller.order(.awaitAdded(seconds: 20))
        guard let start = start.number, let added = added.number else {
            throw BenchError("A worker did not report the time of a start or an added system.")
        }
        return Measurement(nanoseconds: [added - start], elapsedNanoseconds: max(added - start, 1))
    }
}
