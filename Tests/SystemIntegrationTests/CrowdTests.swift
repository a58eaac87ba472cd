// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Fifty hosts in one run, with bounded memory.
    @Suite struct Crowd {
        static let hosts = 50
        /// The limit for a watcher in a debug build, in MiB. Far above measured values, far below a leak for each host.
        static let maxMemory = 100

        @Test func `fifty hosts find each other, and memory stays bounded`() async throws {
            let states = try await Accounts.shared.states(Self.hosts)
            try await SimulatedNetwork.with { network in
                let start = Date()
                let machines = try await Self.machines(states, in: network)
                report("\(machines.count) simulated hosts made", [Date().timeIntervalSince(start)])
                let watching = try machines[0].watch()
                try await watching.reported("enumeration-completed", within: .seconds(20))
                let serving = try await Self.serve(machines)
                let reported = try await Self.everybody(reported: watching)
                report("start of \(machines.count) hosts to all added", [reported.seconds(since: serving)])

                let late = Date()
                let newcomer = try machines[machines.count - 1].watch()
                let all = try await Self.everybody(reported: newcomer)
                report("start of a watcher to all \(machines.count) added", [all.seconds(since: late)])
                #expect(try await machines[1].ping(machines[Self.hosts / 2].name).answered == 3)
                #expect(!watching.hasReported("removed") && !newcomer.hasReported("removed"))
                for watcher in [watching, newcomer] {
                    let memory = try Self.peakMemory(of: watcher)
                    print(
                        "MEASURED memory of a watcher of \(machines.count) hosts: \(memory) MiB at most (debug build)"
                    )
                    #expect(memory < Self.maxMemory)
                }
            }
        }

        /// Creates the hosts, several in parallel.
        private static func machines(_ states: [String], in network: SimulatedNetwork) async throws -> [Machine] {
            try await withThrowingTaskGroup(of: Machine.self) { group in
                var machines: [Machine] = []
                for (number, state) in states.enumerated() {
                    if number >= 4, let machine = try await group.next() { machines.append(machine) }
                    group.addTask { try await network.addMachine("h\(number)", state: state) }
                }
                for try await machine in group { machines.append(machine) }
                return machines
            }
        }

        /// Starts all hosts, a few in parallel, and returns when the first was started.
        private static func serve(_ machines: [Machine]) async throws -> Date {
            let start = Date()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, machine) in machines.enumerated() {
                    if number >= 4 { try await group.next() }
                    group.addTask { _ = try await machine.serve() }
                }
                try await group.waitForAll()
            }
            return start
        }

        /// Waits until a watcher has reported all hosts; returns the last event.
        private static func everybody(reported watcher: ChildProcess) async throws -> ReportedEvent {
            do {
                return try await eventually("\(hosts) hosts", within: .seconds(60), every: .milliseconds(200)) {
                    let added = watcher.reported.filter { $0.event == "added" }
                    return Set(added.compactMap(\.id)).count == hosts ? added.last : nil
                }
            } catch {
                throw IntegrationError("\(error); reported \(Set(watcher.reported.compactMap(\.id)).count)")
            }
        }

        /// The peak memory since the start of the process, in MiB.
        static func peakMemory(of process: ChildProcess) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(process.id)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            return (Int(line?.filter(\.isNumber) ?? "") ?? 0) / 1024
        }
    }

    /// How long users wait, from the start of a process. Measured with a debug build on a busy machine.
    @Suite struct Figures {
        static let rounds = 3

        @Test(arguments: Way.allCases)
        func `time from the start of a host or a watcher to added`(_ way: Way) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta", "gamma")
                let (a, b, c) = (machines[0], machines[1], machines[2])
                for machine in machines { try await way.prepare(machine.host) }
                let onB = try b.watch()
                try await onB.reported("enumeration-completed", within: .seconds(20))
                var (ready, added): ([Double], [Double]) = ([], [])
                var (present, beside, completed): ([Double], [Double], [Double]) = ([], [], [])
                for _ in 0..<Self.rounds {
                    let reported = onB.reported.count
                    var start = Date()
                    let serving = try await a.serve()
                    ready.append(try await serving.reported("ready").seconds(since: start))
                    added.append(try await onB.reported("added", a, from: reported).seconds(since: start))
                    // Waits for the end of the announcements: after each one responses are held back for half a second.
                    try await Task.sleep(for: .milliseconds(4500))
                    start = Date()
                    let late = try c.watch()
                    present.append(try await late.reported("added", a).seconds(since: start))
                    completed.append(try await late.reported("enumeration-completed").seconds(since: start))
                    await late.stop()
                    start = Date()
                    let second = try b.watch()
                    beside.append(try await second.reported("added", a).seconds(since: start))
                    await second.stop()
                    await serving.stop()
                    try await onB.reported("removed", a, from: reported)
                }
                report("\(way): start of a serving process to its being ready", ready)
                report("\(way): start of a serving process to added elsewhere", added)
                report("\(way): start of a watching process to added, of what is there", present)
                report("\(way): the same beside another watching process of its host", beside)
                report("\(way): start of a watching process to enumeration completed", completed)
                #expect((added + present + beside).allSatisfy { $0 < 5 } && completed.allSatisfy { $0 < 8 })
            }
        }
    }
}
