// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsTransport
import Testing

@Suite struct BlockingFileCallsTests {
    /// The name of the thread that runs this.
    private static func threadName() -> String {
        (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
    }

    @Test func `a call that waits for a disk runs on a thread of NIO's pool, and on none of Swift's tasks`() async {
        let name = await BlockingFileCalls.run { Self.threadName() }
        #expect(name.contains("TP-#"), "\(name)")
    }

    @Test func `a call of a cancelled task runs, too`() async {
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await BlockingFileCalls.run { 42 }
        }
        #expect(await task.value == 42)
    }
}
