// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Measuring

/// The process of a caller.
struct Call: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a caller. Started by the driver.",
        shouldDisplay: false
    )

    @Argument var name: ContestantName

    func run() throws {
        let contestant = contestant(name)
        WorkerConversation.raiseDescriptorLimit()
        let setup = try WorkerConversation.setup()
        let caller = try blocking { try await contestant.caller(setup) }
        try WorkerConversation.response(Response())
        var lines: [any Line] = []
        var watch: Watch?
        func firstLine() throws -> any Line {
            if lines.isEmpty { lines.append(try blocking { try await caller.open() }) }
            return lines[0]
        }
        try WorkerConversation.run { order in
            switch order {
            case .exchange(let load, let limit):
                let line = try firstLine()
                return Response(measurement: try blocking { try await line.exchange(load, until: limit) })
            case .rehearse(let load, let limit):
                let line = try firstLine()
                _ = try blocking { try await line.exchange(load, until: limit) }
                return Response()
            case .pace(let count, let interval):
                let line = try firstLine()
                return Response(measurement: try blocking { try await Self.pace(count, interval, line) })
            case .open(let limit):
                return Response(measurement: try blocking { try await Self.open(limit, caller) })
            case .hold(let count):
                lines += try blocking {
                    var more: [any Line] = []
                    for _ in 0..<count { more.append(try await caller.open()) }
                    return more
                }
                return Response()
            case .startWatcher:
                guard let contestant = contestant as? any DiscoveringContestant else { break }
                let start = monotonicNanoseconds()
                watch = try blocking { try await Watch(contestant, setup) }
                return Response(number: start)
            case .awaitAdded(let seconds):
                guard let watch else { throw BenchError("No watcher was started.") }
                return Response(number: try blocking { try await watch.added(within: seconds) })
            case .stopWatcher:
                if let running = watch { try blocking { try await running.stop() } }
                watch = nil
                return Response()
            default:
                break
            }
            throw BenchError("A caller of \(name) does not support the order \(order).")
        }
    }

    private static func pace(_ count: Int, _ interval: Int64, _ line: any Line) async throws -> Measurement {
        var times: [Int64] = []
        times.reserveCapacity(count)
        let begin = monotonicNanoseconds()
        for number in 0..<count {
            times += try await line.exchange(.roundTrip, until: Limit(count: 1, seconds: 10)).nanoseconds
            let wait = begin + Int64(number + 1) * interval - monotonicNanoseconds()
            if wait > 0 { try await Task.sleep(for: .nanoseconds(wait)) }
        }
        return Measurement(nanoseconds: times, elapsedNanoseconds: monotonicNanoseconds() - begin)
    }

    private static func open(_ limit: Limit, _ caller: any Caller) async throws -> Measurement {
        var times: [Int64] = []
        times.reserveCapacity(limit.count)
        let first = monotonicNanoseconds()
        while times.count < limit.count {
            let start = monotonicNanoseconds()
            guard start - first < limit.nanoseconds else { break }
            let line = try await caller.open()
            times.append(monotonicNanoseconds() - start)
            await line.close()
        }
        return Measurement(nanoseconds: times, elapsedNanoseconds: monotonicNanoseconds() - first)
    }
}
