// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// All results of a run. `--json` writes this value.
package struct Report: Codable, Sendable {
    /// The machine and the conditions of the run.
    package struct Machine: Codable, Sendable {
        package var processor: String
        package var cores: Int
        package var kernel: String
        /// The one-minute load average before the run, which shows other work on the machine.
        package var loadBefore: Double
        package var loadAfter: Double

        package init(processor: String, cores: Int, kernel: String, loadBefore: Double, loadAfter: Double) {
            self.processor = processor
            self.cores = cores
            self.kernel = kernel
            self.loadBefore = loadBefore
            self.loadAfter = loadAfter
        }
    }

    package struct Exchange: Codable, Sendable {
        package var load: Load
        package var series: [Series]

        package init(load: Load, series: [Series]) {
            self.load = load
            self.series = series
        }
    }

    package struct Coding: Codable, Sendable {
        package var task: CodingTask
        /// The size of the encoded dictionary, in bytes, by coder.
        package var encodedBytes: [String: Int]
        package var series: [Series]

        package init(task: CodingTask, encodedBytes: [String: Int], series: [Series]) {
            self.task = task
            self.encodedBytes = encodedBytes
            self.series = series
        }
    }

    /// The private memory of idle connections in each process.
    package struct Memory: Codable, Sendable {
        package var subject: String
        package var connections: Int
        /// The time to open all connections one after the other, each up to its first response, in seconds.
        package var openingSeconds: Double
        package var callerBytesPerConnection: Double
        package var serverBytesPerConnection: Double

        package init(
            subject: String,
            connections: Int,
            openingSeconds: Double,
            callerBytesPerConnection: Double,
            serverBytesPerConnection: Double
        ) {
            self.subject = subject
            self.connections = connections
            self.openingSeconds = openingSeconds
            self.callerBytesPerConnection = callerBytesPerConnection
            self.serverBytesPerConnection = serverBytesPerConnection
        }
    }

    /// The number of allocator calls, counted by a preloaded library.
    package struct Allocations: Codable, Sendable {
        package var subject: String
        package var callerPerRoundTrip: Double
        package var serverPerRoundTrip: Double
        package var callerPerConnection: Double?
        package var serverPerConnection: Double?

        package init(
            subject: String,
            callerPerRoundTrip: Double,
            serverPerRoundTrip: Double,
            callerPerConnection: Double?,
            serverPerConnection: Double?
        ) {
            self.subject = subject
            self.callerPerRoundTrip = callerPerRoundTrip
            self.serverPerRoundTrip = serverPerRoundTrip
            self.callerPerConnection = callerPerConnection
            self.serverPerConnection = serverPerConnection
        }
    }

    package var machine: Machine
    package var rounds: Int
    /// Whether idle cores could sleep, so that round trips include the time to wake them.
    package var coresSlept: Bool
    package var exchanges: [Exchange] = []
    /// The times from connecting to the first response.
    package var openings: [Series] = []
    package var memory: [Memory] = []
    package var allocations: [Allocations] = []
    package var codings: [Coding] = []
    /// The times from the start of a host until a running watcher adds it.
    package var startToAdded: Series?
    /// The times from the start of a watcher until it adds a running host.
    package var alreadyPresent: Series?
    /// The times from the start of a watcher until it adds a system that it met before and that is not announced.
    package var knownSystem: Series?
    /// The figures of many systems that watch each other.
    package var scale: [Scale] = []
    /// The figures of activities that go from one process to another.
    package var handOff: HandOff?
    /// The figures of peers while another program attacks.
    package var attacks: [Attack] = []
    package var goals: [Goal] = []
    /// The failures of contestants.
    package var failures: [String] = []

    package init(machine: Machine, rounds: Int, coresSlept: Bool) {
        self.machine = machine
        self.rounds = rounds
        self.coresSlept = coresSlept
    }

    package func exchange(_ load: Load, _ name: ContestantName) -> Series? {
        exchanges.first { $0.load == load }?.series.first { $0.subject == name.rawValue }
    }

    package func coding(_ task: CodingTask, _ name: CoderName) -> Series? {
        codings.first { $0.task == task }?.series.first { $0.subject == name.rawValue }
    }
}
