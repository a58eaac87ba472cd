// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The reason why an application does not start. Its callers receive the description.
struct StartFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
