// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// What a `mailto:` URI asks of a mail program beside the text of a message.
enum MailtoURI {
    /// Whether it wants a file attached. That is no part of RFC 6068, some mail programs do it all the same, and so send a
    /// file of this machine to whoever wrote the URI.
    static func wantsAttachment(_ uri: LaunchURI) -> Bool {
        guard uri.scheme == "mailto" else { return false }
        let query = uri.afterScheme.drop { $0 != "?" }.dropFirst().prefix { $0 != "#" }
        return query.split { $0 == "&" || $0 == ";" || $0 == "?" }.contains { field in
            Self.decoded(field.prefix { $0 != "=" }).lowercased().contains("attach")
        }
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
