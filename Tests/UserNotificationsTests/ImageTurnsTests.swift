// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import UserNotifications

/// Senders with images that take long, and those of others.
@Suite struct ImageTurnsTests {
    private static let attacker = NotificationSender(systemID: "attacker", application: "a")
    private static let honest = NotificationSender(systemID: "honest", application: "a")

    private static func holder(_ sender: NotificationSender) -> AttachmentTable.Holder { .init(sender) }

    @Test func `senders take turns, and one image of each kind is made at a time`() {
        let now = ContinuousClock.now
        var turns = ImageTurns()
        let first = (0..<3).map { _ in turns.enter(.image, of: Self.holder(Self.attacker)) }
        let second = (0..<2).map { _ in turns.enter(.image, of: Self.holder(Self.honest)) }
        let poster = turns.enter(.poster, of: Self.holder(Self.attacker))
        #expect(turns.permission(for: poster, now) == .granted)
        for turn in [first[0], second[0], first[1], second[1], first[2]] {
            let running = (first + second).filter { turns.permission(for: $0, now) == .granted }
            #expect(running.count == 1)
            #expect(turns.permission(for: turn, now) == .granted)
            turns.leave(turn, after: .zero, now)
        }
        turns.leave(poster, after: .zero, now)
        #expect(turns.count == 0)
    }

    @Test func `a sender may use 5 s at once, and then a twentieth of the time; programs of this system more`() {
        var now = ContinuousClock.now
        var turns = ImageTurns()
        func use(_ time: Duration, by sender: NotificationSender, _ kind: ImageTurns.Kind) -> ImageTurns.Permission {
            let turn = turns.enter(kind, of: Self.holder(sender))
            let permission = turns.permission(for: turn, now)
            turns.leave(turn, after: permission == .granted ? time : .zero, now)
            return permission
        }
        #expect(use(.seconds(2), by: Self.attacker, .image) == .granted)
        #expect(use(.seconds(3), by: Self.attacker, .poster) == .granted)
        for kind in [ImageTurns.Kind.image, .poster] {
            // Only the first refusal is logged.
            #expect(use(.seconds(2), by: Self.attacker, kind) == .usedUp(isFirst: kind == .image))
        }
        #expect(use(.seconds(2), by: Self.honest, .image) == .granted)
        now += .seconds(19)
        #expect(use(.seconds(2), by: Self.attacker, .image) == .usedUp(isFirst: false))
        now += .seconds(2)
        #expect(use(.seconds(2), by: Self.attacker, .image) == .granted)
        #expect(use(.seconds(2), by: Self.attacker, .image) == .usedUp(isFirst: true))
        var local = Self.attacker
        local.isLocal = true
        for _ in 0..<8 { #expect(use(.seconds(5), by: local, .image) == .granted) }
    }

    /// Takes as long for each image as a test wants.
    private final class SlowScaler: ImageScaler {
        private let images = Mutex<[Data]>([])
        private let released: AsyncStream<Void>
        private let release: AsyncStream<Void>.Continuation

        init() { (self.released, self.release) = AsyncStream.makeStream() }

        /// The images that were begun.
        var begun: [Data] { self.images.withLock { $0 } }
        func end() { self.release.yield() }

        func scale(_ path: String, to result: String) async -> ImageScaling {
            let image = FileManager.default.contents(atPath: path) ?? Data()
            self.images.withLock { $0.append(image) }
            for await _ in self.released { break }
            return await CopyingScaler().scale(path, to: result)
        }

        func poster(of path: String, _ mediaType: String, to result: String) async -> ImageScaling { .unavailable }
    }

    @Test func `a sender with images that take long delays another one by one image, and has none made then`()
        async throws
    {
        try await AttachmentFiles.with { files in
            let scaler = SlowScaler()
            try await ReceivingSystem.with(attachments: files.received, scaler: scaler) { receiving in
                let (receiver, stage) = (receiving.receiver, receiving.stage)
                func take(_ number: Int, of sender: NotificationSender) throws -> Task<
                    NotificationAttachment, any Error
                > {
                    let path = try files.file("\(number)", TestFile.png(width: UInt32(4 + number))).path
                    return Task {
                        try await receiver.takeFile(path, as: "photo", isThumbnailHidden: false, of: sender)
                    }
                }
                // As many as one sender may send at a time.
                let slow = try (0..<AttachmentTable.maxUploadsOfHolder).map { try take($0, of: Self.attacker) }
                try await stage.eventually("one is made, and the others wait") {
                    await receiver.imageTurns.count == slow.count && scaler.begun.count == 1
                }
                let honest = try take(100, of: Self.honest)
                try await stage.eventually("the other one waits") {
                    await receiver.imageTurns.count == slow.count + 1
                }
                try await stage.clock.advance(by: .seconds(6))
                scaler.end()
                try await stage.eventually("the other one is next") { scaler.begun.count == 2 }
                #expect(scaler.begun.last == Data(TestFile.png(width: 104)))
                scaler.end()
                #expect(try await honest.value.imagePath != nil)
                var images = 0
                for task in slow {
                    let attachment = try await task.value
                    if attachment.imagePath != nil { images += 1 }
                }
                #expect(images == 1 && scaler.begun.count == 2)
            }
        }
    }
}
