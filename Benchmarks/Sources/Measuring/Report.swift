// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Everything a run found; what `--json` writes.
package struct Report: Codable, Sendable {
    /// Where and under what conditions the figures were taken.
    package struct Machine: Codable, Sendable {
        package var processor: String
        package var cores: Int
        package var kernel: String
        /// The one-minute load average before the run: other work on the machine shows here.
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
        /// Bytes of the encoded dictionary, by coder.
        package var encodedBytes: [String: Int]
        package var series: [Series]

        package init(task: CodingTask, encodedBytes: [String: Int], series: [Series]) {
            self.task = task
            self.encodedBytes = encodedBytes
            self.series = series
        }
    }

    /// What idle connections cost, in private memory of each process.
    package struct Memory: Codable, Sendable {
        package var subject: String
        package var connections: Int
        /// How long it took to open them one after the other, each to its first answer.
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

    /// Calls of the allocator, counted in front of the C library.
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
    /// Whether cores could sleep while nothing ran, which makes a round trip longer by the time of waking them.
    package var coresSlept: Bool
    package var exchanges: [Exchange] = []
    /// From connecting to the first answer.
    package var openings: [Series] = []
    package var memory: [Memory] = []
    package var allocations: [Allocations] = []
    package var codings: [Coding] = []
    /// From a host's start to its being added by a watcher that was already running.
    package var startToAdded: Series?
    /// From a watcher's start to its adding a host that was already there.
    package var alreadyPresent: Series?
    package var goals: [Goal] = []
    /// What went wrong: a contestant that failed is reported, not left out in silence.
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
