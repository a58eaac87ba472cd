// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems

/// The system that a sample runs on: this machine, or one of those that `Samples/two-systems/create` has made.
package enum SampleSystem {
    /// - Parameter directory: the directory of such a system; `nil` for this machine.
    package static func configuration(of application: String, on directory: String?) -> RemoteSystemsConfiguration {
        guard let directory else { return RemoteSystemsConfiguration(applicationID: application) }
        var configuration = RemoteSystemsConfiguration(
            applicationID: application,
            network: .loopback,
            stateDirectory: directory
        )
        configuration.systemDisplayName = URL(filePath: directory).lastPathComponent
        return configuration
    }

    /// Prints a line unbuffered, so that a reader of a pipe gets it at once.
    package static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
