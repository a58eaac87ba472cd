// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// The rule for activity types, the ids of applications that hand over, and the applications in the lists of sites.
package enum ActivityTypeName {
    /// The maximum length, in bytes of UTF-8.
    package static let maxBytes = 256

    /// Whether a text can be an activity type: 1 to 256 bytes of letters, digits, `-`, `_` and `.`, with at least one
    /// dot between other characters, as `com.example.editing`.
    package static func isValid(_ type: String) -> Bool {
        guard type.utf8.count <= Self.maxBytes else { return false }
        let parts = type.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count > 1
            && parts.allSatisfy { part in
                !part.isEmpty
                    && part.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                            true
                        default: false
                        }
                    }
            }
    }

    /// Checks a type that the application states.
    ///
    /// - Throws: `RemoteSystemError` with the code `invalidArgument`.
    static func check(_ type: String) throws(RemoteSystemError) {
        guard !Self.isValid(type) else { return }
        throw RemoteSystemError(
            .invalidArgument,
            """
            The activity type \(type.debugDescription.prefix(80)) is not valid. Use a reversed domain name such as \
            com.example.editing, of at most 256 letters, digits, '-', '_' and '.'.
            """,
            side: .local
        )
    }
}
