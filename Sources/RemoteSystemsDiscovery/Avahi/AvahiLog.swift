// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi
import Logging
import Synchronization

/// Routes libavahi-core's own messages to a logger. The library has one log function for the whole process, which
/// writes to stderr by default. The logger of the session that started a stack last receives the messages.
enum AvahiLog {
    private static let logger = Mutex<Logger?>(nil)

    static func route(_ setLogFunction: (AvahiLogFunction?) -> Void, to newLogger: Logger) {
        logger.withLock { $0 = newLogger }
        unsafe setLogFunction { level, text in
            guard let text = unsafe text, let logger = AvahiLog.logger.withLock({ $0 }) else { return }
            let message = unsafe String(cString: text)
            // The library's warnings are normal on a network: other stacks on this host, malformed packets of other
            // hosts.
            logger.log(
                level: level == AVAHI_LOG_ERROR ? .debug : .trace,
                "\(message)",
                metadata: ["from": "libavahi-core"]
            )
        }
    }
}
