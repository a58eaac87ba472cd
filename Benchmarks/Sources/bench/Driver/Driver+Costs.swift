// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring

extension Driver {
    /// Measures the memory of many idle connections, in new processes for each contestant.
    mutating func measureMemory() {
        for name in plan.contestants {
            progress("memory of \(name.rawValue)")
            do {
                let pair = try Pair(name, credentials: credentials, directory: plan.directory)
                defer { pair.stop() }
                // The first connections also allocate memory that all connections share.
                try pair.caller.order(.hold(20))
                let before = try (pair.caller.privateBytes(), pair.server.privateBytes())
                let start = monotonicNanoseconds()
                try pair.caller.order(.hold(plan.heldConnections), within: 120 + Double(plan.heldConnections) / 50)
                let seconds = Double(monotonicNanoseconds() - start) / 1e9
                let after = try (pair.caller.privateBytes(), pair.server.privateBytes())
                report.memory.append(
                    Report.Memory(
                        subject: name.rawValue,
                        connections: plan.heldConnections,
                        openingSeconds: seconds,
                        callerBytesPerConnection: Double(after.0 - before.0) / Double(plan.heldConnections),
                        serverBytesPerConnection: Double(after.1 - before.1) / Double(plan.heldConnections)
                    )
                )
            } catch {
                note(name.rawValue, "measuring memory", error)
            }
        }
    }

    /// Counts allocations in new processes with the preloaded counter. Nothing is timed in them.
    mutating func measureAllocations() {
        for name in plan.contestants {
            progress("allocations of \(name.rawValue)")
            do {
                report.allocations.append(try allocations(of: name))
            } catch {
                note(name.rawValue, "counting allocations", error)
            }
        }
    }

    private func allocations(of name: ContestantName) throws -> Report.Allocations {
        let counters = try (caller: SharedCounter(), server: SharedCounter())
        let pair = try Pair(
            name,
            credentials: credentials,
            directory: plan.directory,
            serverCounter: counters.server,
            callerCounter: counters.caller
        )
        defer { pair.stop() }

        func counted(_ order: Order) throws -> (caller: Double, server: Double) {
            let before = try (counters.caller.allocations(), counters.server.allocations())
            try pair.caller.order(order)
            let after = try (counters.caller.allocations(), counters.server.allocations())
            return (Double(after.0 - before.0), Double(after.1 - before.1))
        }
        /// Returns the allocations per repetition: the difference removes the fixed costs of an order.
        func each(more: Int, _ order: (Int) -> Order) throws -> (caller: Double, server: Double) {
            _ = try counted(order(more))
            let once = try counted(order(more))
            let twice = try counted(order(2 * more))
            return ((twice.caller - once.caller) / Double(more), (twice.server - once.server) / Double(more))
        }
        let roundTrip = try each(more: 2000) { .rehearse(.roundTrip, Limit(count: $0, seconds: 20)) }
        let connection = try each(more: 50) { .hold($0) }
        return Report.Allocations(
            subject: name.rawValue,
            callerPerRoundTrip: roundTrip.caller,
            serverPerRoundTrip: roundTrip.server,
            callerPerConnection: connection.caller,
            serverPerConnection: connection.server
        )
    }

    /// Measures the coders, which take turns in one process.
    mutating func measureCoding() {
        progress("coding")
        do {
            let worker = try Worker(["code"], setup: nil)
            defer { worker.stop() }
            for task in CodingTask.all {
                report.codings.append(try coding(task, worker))
            }
        } catch {
            note("coding", "measuring", error)
        }
    }

    private func coding(_ task: CodingTask, _ worker: Worker) throws -> Report.Coding {
        let names = CoderName.allCases
        var series = names.map { Series(subject: $0.rawValue) }
        var sizes: [String: Int] = [:]
        for name in names {
            sizes[name.rawValue] = try worker.order(.size(name, task.dictionary)).number.map(Int.init)
            try worker.order(.code(name, task, plan.coding))
        }
        for _ in 0..<plan.rounds {
            for (index, name) in names.enumerated() {
                series[index].append(try worker.order(.code(name, task, plan.coding)).measurement)
            }
        }
        for index in series.indices { series[index].seal() }
        return Report.Coding(task: task, encodedBytes: sizes, series: series)
    }
}
