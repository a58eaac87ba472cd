// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Measuring
import RemoteSystems
import ValueSets

/// Opens app-service connections to one host.
struct OursCaller: Caller {
    let request: RemoteSystemConnectionRequest
    let form: Ours.Form

    private static let service = AppServiceDescription(name: Ours.service, requestSchema: .full, responseSchema: .full)

    func open() async throws -> any Line {
        switch form {
        case .scoped:
            return try await OursScopedLine.open(Self.service, request)
        case .fromPool:
            let connection = AppServiceConnection(to: Self.service)
            guard try await connection.open(request) == .success else {
                throw connection.openError ?? BenchError("The connection was not opened, and no reason was given.")
            }
            let line = OursLine(connection: connection)
            try await line.exchangeFirst()
            return line
        }
    }
}

/// A line that sends from the calling task.
private struct OursLine: RoundTripLine {
    let connection: AppServiceConnection

    func message(for load: Load) -> ValueSet {
        [
            "IsEcho": .bool(load.answer == .echo),
            "Payload": .data(Data(repeating: 0x5a, count: load.bytes)),
        ]
    }

    func roundTrip(_ message: ValueSet, load: Load) async throws {
        let answer = try await connection.send(message).get()
        guard answer["Payload"]?.data?.count == (load.answer == .echo ? load.bytes : nil) else {
            throw BenchError("The response is not the expected one.")
        }
    }

    func exchangeFirst() async throws {
        _ = try await exchange(.roundTrip, until: Limit(count: 1, seconds: 10))
    }

    func close() async {
        await connection.close()
    }
}

/// A line that performs its exchanges inside the scope of its connection. The scope ends when the line is closed.
private struct OursScopedLine: Line {
    private struct Job {
        var load: Load
        var limit: Limit
        var done: CheckedContinuation<Measurement, any Error>
    }

    private let jobs: AsyncStream<Job>.Continuation
    private let scope: Task<Void, Never>

    /// Opens a connection. Its first exchange is in its scope's body, as in an application.
    static func open(_ service: AppServiceDescription, _ request: RemoteSystemConnectionRequest) async throws -> Self {
        let (jobs, continuation) = AsyncStream.makeStream(of: Job.self, bufferingPolicy: .bufferingOldest(1))
        let (opened, opening) = AsyncThrowingStream.makeStream(of: Void.self)
        let scope = Task.immediate {
            do {
                try await AppServiceConnection.with(service, request) { connection in
                    let line = OursLine(connection: connection)
                    try await line.exchangeFirst()
                    opening.finish()
                    for await job in jobs {
                        do {
                            job.done.resume(returning: try await line.exchange(job.load, until: job.limit))
                        } catch {
                            job.done.resume(throwing: error)
                        }
                    }
                }
            } catch {
                opening.finish(throwing: error)
                for await job in jobs { job.done.resume(throwing: error) }
            }
        }
        for try await _ in opened {}
        return Self(jobs: continuation, scope: scope)
    }

    func exchange(_ load: Load, until limit: Limit) async throws -> Measurement {
        try await withCheckedThrowingContinuation { done in
            guard case .enqueued = jobs.yield(Job(load: load, limit: limit, done: done)) else {
                done.resume(throwing: BenchError("The line is closed or busy."))
                return
            }
        }
    }

    func close() async {
        jobs.finish()
        await scope.value
    }
}
