// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CBenchSupport
import FoundationEssentials
import Measuring

/// A child process of this program that carries out orders.
struct Worker {
    private let process: ChildProcess
    /// The address that the worker reported when it was ready.
    private(set) var address = ""
    private var companions: [Int32] = []

    /// - Parameters:
    ///   - arguments: The subcommand and its arguments.
    ///   - setup: The parameters that are sent to the worker first. It responds when it is ready.
    ///   - counter: The counter of its allocations; nil if they are not counted.
    init(_ arguments: [String], setup: Setup?, counter: SharedCounter? = nil) throws {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var environment: [String: String] = [:]
        if counter != nil {
            let folder = program.split(separator: "/").dropLast().joined(separator: "/")
            let library = "/\(folder)/libAllocationCounter.so"
            guard FileManager.default.fileExists(atPath: library) else {
                throw BenchError("\(library) is missing. Build the whole package.")
            }
            environment["LD_PRELOAD"] = library
        }
        process = try ChildProcess([program] + arguments, environment: environment, shared: counter)
        do {
            guard let setup else { return }
            try process.writeLine(JSONEncoder().encode(setup))
            let ready = try response(within: 30)
            address = ready.address ?? ""
            companions = ready.companions ?? []
        } catch {
            process.stop()
            throw error
        }
    }

    /// Sends an order and waits for the response.
    @discardableResult
    func order(_ order: Order, within seconds: Double = 60) throws -> Response {
        try process.writeLine(JSONEncoder().encode(order))
        return try response(within: seconds)
    }

    /// Sends an order without waiting for the response, so that several workers carry out theirs at the same time.
    func send(_ order: Order) throws {
        try process.writeLine(JSONEncoder().encode(order))
    }

    /// Waits for the response to the order that was sent last.
    func response(within seconds: Double) throws -> Response {
        let response = try JSONDecoder().decode(Response.self, from: Data(process.readLine(within: seconds)))
        if let failure = response.failure { throw BenchError(failure) }
        return response
    }

    /// The private resident memory of the worker and its companions, in bytes.
    func privateBytes() throws -> Int64 {
        try ([process.pid] + companions).map(ChildProcess.privateBytes).reduce(0, +)
    }

    /// The processor time that the worker has used so far, in seconds.
    func processorSeconds() throws -> Double { try ChildProcess.processorSeconds(of: process.pid) }

    /// The number of threads of the worker.
    func threads() -> Int { ChildProcess.entries(of: "/proc/\(process.pid)/task") }

    /// The number of files that the worker has open.
    func descriptors() -> Int { ChildProcess.entries(of: "/proc/\(process.pid)/fd") }

    /// Limits the worker to a quarter of one core from now on, whatever its threads do. One worker at a time.
    func beginLimit() throws {
        let failure = bench_begin_limit(process.pid)
        guard failure == 0 else { throw BenchError("Process \(process.pid) cannot be limited: error \(failure).") }
    }

    /// Ends the limit. Call this before ``stop()``.
    ///
    /// - Returns: the worker's processor time since the beginning of the limit, in percent of a core.
    func endLimit() -> Double { bench_end_limit() * 100 }

    func stop() {
        process.stop()
    }
}

/// The server and the caller of one contestant, each in its own process.
struct Pair {
    let name: ContestantName
    let server: Worker
    let caller: Worker

    init(
        _ name: ContestantName,
        credentials: Credentials,
        directory: String,
        serverCounter: SharedCounter? = nil,
        callerCounter: SharedCounter? = nil
    ) throws {
        self.name = name
        var setup = Setup(credentials: credentials, directory: directory)
        server = try Worker(["serve", name.rawValue], setup: setup, counter: serverCounter)
        setup.address = server.address
        do {
            caller = try Worker(["call", name.rawValue], setup: setup, counter: callerCounter)
        } catch {
            server.stop()
            throw error
        }
    }

    func stop() {
        caller.stop()
        server.stop()
    }
}
