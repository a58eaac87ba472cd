// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import Testing

@testable import RemoteSystemsTransport

/// Files that are sent and received over streams.
@Suite(.timeLimit(.minutes(1))) struct StreamFileTests {
    private static func withDirectory(_ body: (URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "streams-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(directory)
    }

    private static func names(in directory: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path)
    }

    @Test(arguments: [0, 1, 256 << 10, (5 << 20) + 17])
    func `a file arrives completely, and replaces one of the same name`(size: Int) async throws {
        try await Self.withDirectory { directory in
            let bytes = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
            let source = directory.appending(path: "source")
            let target = directory.appending(path: "target")
            try bytes.write(to: source)
            try Data("an older one".utf8).write(to: target)
            try await LoopbackHost.with { host in
                let pair = try await host.streams()
                async let received = pair.caller.receive(into: target.path)
                #expect(try await pair.host.send(contentsOf: source.path) == Int64(size))
                try await pair.host.finish()
                #expect(try await received == Int64(size))
                #expect(try Data(contentsOf: target) == bytes)
                #expect(try Self.names(in: directory).sorted() == ["source", "target"])
                // The other direction continues.
                try await pair.caller.write("thanks")
                #expect(try await pair.host.read() == ByteBuffer(string: "thanks"))
            }
        }
    }

    @Test(arguments: [(size: 600_000, max: 600_000, arrives: true), (600_000, 599_999, false), (1, 0, false)])
    func `a receiver that limits a file keeps nothing of a larger one, and the sender learns why`(
        size: Int,
        max: Int64,
        arrives: Bool
    ) async throws {
        try await Self.withDirectory { directory in
            let target = directory.appending(path: "target")
            try await LoopbackHost.with { host in
                let pair = try await host.streams()
                async let received = pair.caller.receive(into: target.path, max: max)
                let sent = await streamError {
                    try await pair.host.write(ByteBuffer(repeating: 7, count: size))
                    try await pair.host.finish()
                    if !arrives { _ = try await pair.host.read() }
                }
                if arrives {
                    #expect(try await received == max && sent == nil)
                    return
                }
                do {
                    _ = try await received
                    Issue.record("It was received.")
                } catch let error as StreamError {
                    #expect(error.code == .aborted && error.message.contains("more than \(max) bytes"))
                }
                #expect(sent?.code == .abortedByPeer && sent?.message.contains("at most \(max) bytes") == true)
                try await eventually("the file's end") { try Self.names(in: directory).isEmpty }
            }
        }
    }

    @Test func `a truncated stream leaves no new file, and keeps an existing one`() async throws {
        try await Self.withDirectory { directory in
            let target = directory.appending(path: "target")
            try Data("an older one".utf8).write(to: target)
            try await LoopbackHost.with { host in
                let (peer, stream) = try await host.openRawStream()
                try peer.send(.data(ByteBuffer(string: "half of")))
                peer.close()
                let error = await streamError { _ = try await stream.receive(into: target.path) }
                #expect(error?.code == .truncated)
                try await eventually("the file's end") { try Self.names(in: directory) == ["target"] }
                #expect(try Data(contentsOf: target) == Data("an older one".utf8))
            }
        }
    }

    @Test func `a file that cannot be read ends the stream with a reason`() async throws {
        try await LoopbackHost.with { host in
            let pair = try await host.streams()
            let error = await streamError { _ = try await pair.host.send(contentsOf: "/nonexistent/file") }
            #expect(error?.code == .fileFailed)
            #expect(error?.message.contains("/nonexistent/file") == true)
            let peers = await streamError { _ = try await pair.caller.read() }
            #expect(peers?.failureCode == "stream-source-failed")
            // The path is not sent to the peer.
            #expect(peers?.message.contains("nonexistent") == false)
        }
    }

    @Test func `a directory cannot be sent, which ends the stream with a reason`() async throws {
        try await LoopbackHost.with { host in
            let pair = try await host.streams()
            let error1 = await streamError { _ = try await pair.host.send(contentsOf: "/tmp") }
            #expect(error1?.code == .fileFailed)
            let peers = await streamError { _ = try await pair.caller.read() }
            #expect(peers?.failureCode == "stream-source-failed")
        }
    }

    @Test func `a file that cannot be written ends the stream with a reason`() async throws {
        try await LoopbackHost.with { host in
            let pair = try await host.streams()
            let error = await streamError { _ = try await pair.caller.receive(into: "/nonexistent/file") }
            #expect(error?.code == .fileFailed)
            #expect(error?.failureCode == "stream-storage-failed")
            let peers = await streamError { _ = try await pair.host.read() }
            #expect(peers?.code == .abortedByPeer)
            #expect(peers?.failureCode == "stream-storage-failed")
        }
    }

    @Test func `a full file system ends the stream with a reason`() async throws {
        // Every write to this device fails as on a full file system.
        try await LoopbackHost.with { host in
            let pair = try await host.streams()
            try await pair.host.write("more than there is room for")
            let error = await streamError {
                do {
                    _ = try await pair.caller.store(in: "/dev/full", 0)
                } catch {
                    throw pair.caller.giveUp(error, writing: "/dev/full")
                }
            }
            #expect(error?.code == .storageFull)
            #expect(error?.canRetry == true)
            #expect(error?.failureCode == "stream-storage-full")
            let peers = await streamError { _ = try await pair.host.read() }
            #expect(peers?.code == .abortedByPeer)
            #expect(peers?.failureCode == "stream-storage-full")
        }
    }
}
