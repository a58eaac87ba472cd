// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// Checks the header fields of `mailto:` URIs.
enum MailtoURI {
    /// Whether the URI asks for a file attachment.
    ///
    /// RFC 6068 does not define attachments, but some mail programs support them. The author of the URI could thereby
    /// obtain a file of this machine. Programs split a URI in different ways, also at a comma or without a `?`, and
    /// pass it on decoded. So the name of such a field counts anywhere in the text, also in a subject.
    static func wantsAttachment(_ uri: LaunchURI) -> Bool {
        guard uri.scheme == "mailto" else { return false }
        let once = Self.decoded(uri.afterScheme[...])
        return [once, Self.decoded(once[...])].contains { text in
            text.lowercased().contains(/attach[a-z]*\s*=/)
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
