// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// A kind of document that an application opens, and the activity type with which it is handed over.
public struct DocumentType: Sendable, Hashable {
    /// The media types of the documents, such as `text/markdown`, in lower case.
    public var mediaTypes: Set<String>
    /// The type of the documents' activities. Several document types can share it.
    public var activityType: String

    /// Creates a kind of document.
    public init(mediaTypes: Set<String>, activityType: String) {
        self.mediaTypes = Set(mediaTypes.map { $0.lowercased() })
        self.activityType = activityType
    }

    /// Checks that each kind has media types, an activity type, and no media type in common with another one.
    ///
    /// - Throws: `RemoteSystemError` with the code `invalidArgument`.
    static func check(_ types: [DocumentType]) throws(RemoteSystemError) {
        for type in types { try ActivityTypeName.check(type.activityType) }
        let media = types.flatMap(\.mediaTypes)
        guard types.count <= HandledTypes.max, types.allSatisfy({ !$0.mediaTypes.isEmpty }),
            Set(media).count == media.count, media.allSatisfy({ $0.split(separator: "/").count == 2 })
        else {
            throw RemoteSystemError(
                .invalidArgument,
                "Each document type has media types such as text/markdown, and each of them belongs to one document "
                    + "type only.",
                side: .local
            )
        }
    }
}
