// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

@testable import UserNotifications

/// An extension in this process.
final class StagedExtensionProgram: ExtensionProgram {
    private let received = Mutex<[String]>([])
    private let ends = Mutex(0)
    private let lines: AsyncStream<ExtensionOutput>
    private let responses: AsyncStream<ExtensionOutput>.Continuation
    /// Waits until it may end.
    private let hangs: Bool
    private let mayEnd: AsyncStream<Void>?
    private let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path

    /// - Parameter mayEnd: it ends when this stream does. Defaults to `nil`: at once.
    init(hangs: Bool = false, mayEnd: AsyncStream<Void>? = nil) {
        (self.lines, self.responses) = AsyncStream.makeStream()
        self.hangs = hangs
        self.mayEnd = mayEnd
    }

    var requests: [String] { self.received.withLock { $0 } }
    var hasEnded: Bool { self.ends.withLock { $0 > 0 } }
    func send(_ line: String) { self.received.withLock { $0.append(line) } }
    func respond(_ line: String) { self.responses.yield(.line(line)) }
    func crash() { self.responses.finish() }

    func makeRoom(for byteCount: Int64) async throws(NotificationError) -> String {
        do {
            try FileManager.default.createDirectory(atPath: self.directory, withIntermediateDirectories: false)
            return self.directory
        } catch {
            throw NotificationError(.storeFailed, "\(error)")
        }
    }

    var outputs: AsyncStream<ExtensionOutput> { self.lines }

    func end() async -> String {
        self.ends.withLock { $0 += 1 }
        self.responses.finish()
        try? FileManager.default.removeItem(atPath: self.directory)
        if let mayEnd { for await _ in mayEnd {} }
        if self.hangs { try? await Task.sleep(for: .seconds(3600)) }
        return "it ended with exit status 3"
    }
}
