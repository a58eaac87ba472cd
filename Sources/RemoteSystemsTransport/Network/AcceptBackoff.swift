// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Logging
internal import NIOCore

/// What a listening socket does when the machine has no room for another connection: it waits a little, and says so.
///
/// A connection that cannot be taken stays in the kernel's queue. Without a pause the event loop would ask for it again
/// at once, for ever, and everybody else on that loop would wait. SwiftNIO's own handler for this withholds a read, which
/// does not help: after an accept that failed, the socket stays registered for reading (seen with 2.101).
final class AcceptBackoff: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let time = TimeAmount.milliseconds(100)
    /// How often it is told while it lasts.
    private static let telling = TimeAmount.minutes(1)

    private let logger: Logger
    private var lastReported: NIODeadline?

    init(logger: Logger) {
        self.logger = logger
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Others are about one connection, which its caller has given up.
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
        guard self.lastReported.map({ now - $0 >= Self.telling }) ?? true else { return }
        self.lastReported = now
        self.logger.error(
            "No further connection can be taken for now. If it is files that lack, raise the limit (ulimit -n, LimitNOFILE=)",
            metadata: ["reason": "\(error)"]
        )
    }
}
