// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserActivities

/// Requests and responses over continuation streams.
@Suite(.timeLimit(.minutes(2))) struct StreamRequestTests {
    /// Responds with the square of a number, and fails for a negative one.
    private final class Squares: UserActivityDelegate {
        let results = Mutex<[Result<StreamRequests.Traffic, any Error>]>([])

        func userActivity(
            _ activity: UserActivity,
            didReceive input: ContinuationInputStream,
            _ output: ContinuationOutputStream
        ) async {
            struct Negative: Error {}
            let result: Result<StreamRequests.Traffic, any Error>
            do {
                result = .success(
                    try await StreamRequests.serve(input, output) { request in
                        guard let number = request["Number"]?.int, number >= 0 else { throw Negative() }
                        return ["Square": .integer(Int64(number * number))]
                    }
                )
            } catch {
                result = .failure(error)
            }
            self.results.withLock { $0.append(result) }
        }
    }

    private func withRequests(
        _ squares: Squares,
        _ body: @escaping @Sendable (StreamRequests) async throws -> Void
    ) async throws {
        let handler = ClosureContinuationHandler { activity in
            try await body(StreamRequests(try await activity.continuationStreams()))
        }
        try await ContinuationTests.Desk.with(handler) { desk in
            let activity = UserActivity(type: ContinuationTests.editing, supportsContinuationStreams: true)
            activity.delegate = squares
            try await desk.continue(try await desk.offer(activity))
            try await desk.stage.eventually("the origin's side has ended") {
                squares.results.withLock { !$0.isEmpty }
            }
        }
    }

    @Test func `requests of several tasks are answered in their order, and counted (H-77, H-78)`() async throws {
        let squares = Squares()
        let traffic = Mutex(StreamRequests.Traffic())
        try await self.withRequests(squares) { requests in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let response = try await requests.send(["Number": .integer(Int64(number))])
                        #expect(response["Square"]?.int == number * number)
                    }
                }
                try await group.waitForAll()
            }
            try await requests.finish()
            traffic.withLock { $0 = requests.traffic }
        }
        let served = try #require(squares.results.withLock { $0.first }).get()
        #expect(served == traffic.withLock { $0 })
        #expect(served.requests == 20)
        // A message costs its length in four bytes, and its encoding.
        var (requestBytes, responseBytes) = (0, 0)
        for number in 0..<20 {
            let request: ValueSet = ["Number": .integer(Int64(number))]
            let response: ValueSet = ["Square": .integer(Int64(number * number))]
            requestBytes += try request.encoded().count + 4
            responseBytes += try response.encoded().count + 4
        }
        #expect(served.requestBytes == requestBytes && served.responseBytes == responseBytes)
        #expect(requestBytes < 400 && responseBytes < 400)
    }

    @Test func `a response that fails ends the stream on both sides`() async throws {
        let squares = Squares()
        let error = Mutex<ContinuationError?>(nil)
        try await self.withRequests(squares) { requests in
            let failure = await #expect(throws: ContinuationError.self) {
                try await requests.send(["Number": -1])
            }
            error.withLock { $0 = failure }
            // No further request is possible.
            await #expect(throws: ContinuationError.self) { try await requests.send(["Number": 1]) }
        }
        #expect(error.withLock { $0?.code } == .streamFailed)
        let served = try #require(squares.results.withLock { $0.first })
        #expect(throws: (any Error).self) { try served.get() }
    }

    @Test func `a request that is too large is refused before anything is sent`() async throws {
        let squares = Squares()
        try await self.withRequests(squares) { requests in
            let large = Value.data(Data(count: StreamRequests.maxMessageBytes))
            let error = await #expect(throws: ContinuationError.self) { try await requests.send(["Data": large]) }
            #expect(error?.code == .payloadTooLarge)
            #expect(try await requests.send(["Number": 3]) == ["Square": 9])
            try await requests.finish()
        }
    }

    @Test func `messages are found wherever the bytes are split`() throws {
        let messages: [ValueSet] = [["Number": 1], [:], ["Text": "a"]]
        let bytes = try messages.flatMap { try StreamMessages.encode($0) }
        for split in bytes.indices {
            var reader = StreamMessages()
            var found: [ValueSet] = []
            for part in [bytes[..<split], bytes[split...]] {
                reader.append(part)
                while let next = try reader.next() { found.append(next.message) }
            }
            #expect(found == messages && reader.isEmpty)
        }
    }

    @Test func `a message over 1 MiB is refused by its length alone`() {
        var reader = StreamMessages()
        reader.append([0, 0x10, 0, 1])
        #expect(throws: ContinuationError.self) { try reader.next() }
    }
}
