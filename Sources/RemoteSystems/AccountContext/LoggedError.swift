// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// An error of the user's code in the form in which it is logged: its type and its description, on one line of limited
/// length.
///
/// The user's code determines the description, which may contain data of a peer. Errors of Swift's coders quote the
/// value, so only their kind and key path are logged.
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
