// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Measuring

extension Driver {
    /// How long a host takes to be added, with the watcher there before it and with the watcher coming after it.
    mutating func measureDiscovery() {
        // The forms of one contestant differ in how they send, not in how they are found.
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
                    // For a second after an announcement mDNS does not say the same again (RFC 6762 section 6), and the
                    // announcement itself is repeated: a host that was there before is quiet by now.
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

    private func interval(from start: Response, to pair: Pair) throws -> Measurement {
        let added = try pair.caller.order(.awaitAdded(seconds: 20))
        guard let start = start.number, let added = added.number else {
            throw BenchError("A worker did not say when it started or added something.")
        }
        return Measurement(nanoseconds: [added - start], elapsedNanoseconds: max(added - start, 1))
    }
}
