// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystemsDesktop

/// The output of a command with `--json` for a problem or a warning of a file.
struct FileProblemOutput: Encodable {
    let event: String
    let time = Date.now
    var file: String
    var line: Int?
    var message: String

    init(event: String, _ problem: ConfigurationFileError) {
        self.event = event
        self.file = problem.path
        self.line = problem.line
        self.message = problem.message
    }
}
