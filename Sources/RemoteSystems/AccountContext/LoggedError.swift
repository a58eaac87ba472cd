// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// An error of somebody else's code as it is logged: its type and its description, on one line of bounded length.
///
/// What the code puts into the description is its own affair; a peer may have a part in it. Of the errors of Swift's
/// coders, which quote the value, the kind and the key path alone are logged.
struct LoggedError: CustomStringConvertible {
    private static let maxLength = 512

    let description: String

    init(_ error: any Error) {
        let text = (Self.coding(error) ?? "\(error)").withoutControlCharacters
        let shown = text.utf8.count <= Self.maxLength ? text : WireFailure(text).text
        let type = "\(type(of: error))"
        self.description = shown.hasPrefix(type) ? shown : "\(type): \(shown)"
    }

    private static func coding(_ error: any Error) -> String? {
        switch error {
        case DecodingError.typeMismatch(_, let context): Self.text("DecodingError: typeMismatch", context.codingPath)
        case DecodingError.valueNotFound(_, let context): Self.text("DecodingError: valueNotFound", context.codingPath)
        case DecodingError.keyNotFound(let key, let context):
            Self.text("DecodingError: keyNotFound", context.codingPath + [key])
        case DecodingError.dataCorrupted(let context): Self.text("DecodingError: dataCorrupted", context.codingPath)
        case is DecodingError: "DecodingError"
        case EncodingError.invalidValue(_, let context): Self.text("EncodingError: invalidValue", context.codingPath)
        case is EncodingError: "EncodingError"
        default: nil
        }
    }

    private static func text(_ kind: String, _ path: [any CodingKey]) -> String {
        path.isEmpty ? kind : "\(kind) at \(path.map(\.stringValue).joined(separator: "."))"
    }
}
