// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi
import Logging
import Synchronization

/// Where the embedded stack's own messages go. libavahi-core has one place for all of a process, and writes to stderr unless told
/// otherwise, so the logger of the session that started a stack last has it.
enum AvahiLog {
    private static let logger = Mutex<Logger?>(nil)

    static func route(_ setLogFunction: (AvahiLogFunction?) -> Void, to newLogger: Logger) {
        logger.withLock { $0 = newLogger }
        unsafe setLogFunction { level, text in
            guard let text = unsafe text, let logger = AvahiLog.logger.withLock({ $0 }) else { return }
            let message = unsafe String(cString: text)
            // Its warnings are the daily life of a network: other stacks on this host, odd packets of strangers.
            logger.log(
                level: level == AVAHI_LOG_ERROR ? .debug : .trace,
                "\(message)",
                metadata: ["from": "libavahi-core"]
            )
        }
    }
}
