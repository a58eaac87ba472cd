// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// An error of somebody else's code as it is logged: its type and its description, on one line of bounded length.
///
/// What the code puts into the description is its own affair; a peer may have a part in it.
struct LoggedError: CustomStringConvertible {
    private static let maxLength = 512

    let description: String

    init(_ error: any Error) {
        let text = "\(error)".withoutControlCharacters
        let shown = text.utf8.count <= Self.maxLength ? text : WireFailure(text).text
        let type = "\(type(of: error))"
        self.description = shown.hasPrefix(type) ? shown : "\(type): \(shown)"
    }
}
