// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import ServiceLifecycle

extension RemoteSystemHost {
    /// Waits until the host listens.
    ///
    /// - Returns: its port; `nil` if it has ended. Its own `run()` throws the reason. This then waits for the shutdown
    ///   that follows.
    func listeningPort() async -> Int? {
        if let port = try? await self.port { return port }
        try? await gracefulShutdown()
        return nil
    }
}
