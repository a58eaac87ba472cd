// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Logging
internal import NIOCore

/// Pauses accepting on a listening socket when the machine lacks resources for another connection, and logs it.
///
/// A connection that cannot be accepted stays in the kernel's queue. Without a pause the event loop would retry the
/// accept at once and without end, which starves the other channels on that loop. SwiftNIO's own `AcceptBackoffHandler`
/// withholds a read, which does not help: after a failed accept the socket stays registered for reading (seen with
/// 2.101).
final class AcceptBackoff: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let time = TimeAmount.milliseconds(100)
    /// The minimum interval between two log messages.
    private static let reportInterval = TimeAmount.minutes(1)

    private let logger: Logger
    private var lastReported: NIODeadline?

    init(logger: Logger) {
        self.logger = logger
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Other errors concern a single connection that its caller has aborted.
        guard let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        self.notify(error)
        let channel = context.channel
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.time) {
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }

    private func notify(_ error: IOError) {
        let now = NIODeadline.now()
        guard self.lastReported.map({ now - $0 >= Self.reportInterval }) ?? true else { return }
        self.lastReported = now
        self.logger.error(
            """
            No further connection can be taken for now. If the limit on open files is the cause, raise it \
            (ulimit -n, LimitNOFILE=)
            """,
            metadata: ["reason": "\(error)"]
        )
    }
}
