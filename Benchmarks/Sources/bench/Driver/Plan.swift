// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring

/// The extent of a run and its contestants.
struct Plan {
    var rounds: Int
    var quick: Bool
    var heldConnections: Int
    var parts: Set<Part>
    var contestants: [ContestantName]
    var directory: String
    var keepsCoresAwake: Bool

    /// The warm-up, which brings code, caches and connections into their normal state.
    var warmUp: Limit { Limit(count: 2000, seconds: quick ? 0.1 : 0.3) }
    var exchange: Limit { Limit(count: quick ? 5000 : 50_000, seconds: quick ? 0.2 : 0.6) }
    var opening: Limit { Limit(count: quick ? 20 : 100, seconds: quick ? 1 : 3) }
    var coding: Limit { Limit(count: quick ? 500 : 2000, seconds: quick ? 0.1 : 0.3) }
    var discoveries: Int { quick ? 2 : 7 }
    /// The numbers of systems that one watcher lists. Ascending.
    var watchedSystems: [Int] { quick ? [20] : [100, 1000] }
    var meshedSystems: Int { quick ? 8 : 100 }
    var hostsPerProcess: Int { quick ? 10 : 100 }
    var meshProcesses: Int { quick ? 2 : 4 }
    var handOffs: Int { quick ? 5 : 50 }
    /// What a continuation stream transfers, in MiB.
    var handOffMegabytes: Int { quick ? 20 : 200 }
    /// The systems that offer activities to one that lists them all, and the applications of each.
    var crowdSystems: Int { quick ? 10 : 100 }
    var crowdApplications: Int { quick ? 2 : 10 }
    var attackRounds: Int { quick ? 1 : 5 }
    var pacedMessages: Int { quick ? 300 : 2000 }
    /// The time for which an attack runs before anything is measured, in microseconds.
    var attackLead: UInt32 { quick ? 300_000 : 1_000_000 }
    /// The time for which idle processes are observed, in seconds.
    var idleSeconds: Double { quick ? 2 : 30 }
}
