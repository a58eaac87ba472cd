// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Why an application does not start, in a sentence that its callers read.
struct StartFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
