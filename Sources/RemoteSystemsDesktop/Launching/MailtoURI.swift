// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// Checks the header fields of `mailto:` URIs.
enum MailtoURI {
    /// Whether the URI asks for a file attachment.
    ///
    /// RFC 6068 does not define attachments, but some mail programs support them. The author of the URI could thereby
    /// obtain a file of this machine. What follows a `#` counts, too: a program may read the whole text as fields.
    static func wantsAttachment(_ uri: LaunchURI) -> Bool {
        guard uri.scheme == "mailto" else { return false }
        let query = uri.afterScheme.drop { $0 != "?" }.dropFirst()
        return query.split { "&;?#".contains($0) }.contains { field in
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
