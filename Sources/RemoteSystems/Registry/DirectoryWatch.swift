// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOPosix

/// Notices files that are moved into a directory, without polling (inotify(7)).
final class DirectoryWatch: Sendable {
    /// The number of events so far.
    let events: ObservableValue<Int>
    private let channel: any Channel

    private init(_ channel: any Channel, _ events: ObservableValue<Int>) {
        self.channel = channel
        self.events = events
    }

    deinit { self.channel.close(promise: nil) }

    /// - Throws: ``SystemCallFailure``, for example when the user has the maximum number of inotify instances.
    static func start(directory: String) async throws -> DirectoryWatch {
        let descriptor = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
        guard descriptor >= 0 else { throw SystemCallFailure("inotify_init1", directory) }
        guard unsafe inotify_add_watch(descriptor, directory, UInt32(IN_MOVED_TO) | UInt32(IN_ONLYDIR)) >= 0 else {
            let failure = SystemCallFailure("inotify_add_watch", directory)
            close(descriptor)
            throw failure
        }
        let events = ObservableValue(0)
        do {
            // On an existing event loop, which needs no further file descriptors.
            let channel = try await NIOPipeBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                // The kernel returns whole events only, each of up to 272 bytes.
                .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 4096))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Counter(events))
                    }
                }
                .takingOwnershipOfDescriptor(input: descriptor).get()
            return DirectoryWatch(channel, events)
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Counts reads. What happened does not matter, only that something did.
    private final class Counter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let events: ObservableValue<Int>

        init(_ events: ObservableValue<Int>) { self.events = events }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.events.change { $0 += 1 }
        }
    }
}
