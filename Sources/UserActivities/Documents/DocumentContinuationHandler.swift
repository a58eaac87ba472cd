// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import RemoteSystems

/// Continues activities of documents: opens the document, and restores its state.
///
/// ```swift
/// let handler = DocumentContinuationHandler { url in try await editor.open(url) }
/// ```
public struct DocumentContinuationHandler: ContinuationHandler {
    private let open: @Sendable (URL) async throws -> [any ActivityRestoring]
    private let continuing: (@Sendable (UserActivity) async throws -> Bool)?

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - continuing: continues an activity in another way, and returns whether it did. Defaults to `nil`: every
    ///     activity opens its document.
    ///   - open: opens a document of this system, and returns the objects that take their state from the activity.
    public init(
        continuing: (@Sendable (UserActivity) async throws -> Bool)? = nil,
        open: @escaping @Sendable (URL) async throws -> [any ActivityRestoring]
    ) {
        self.continuing = continuing
        self.open = open
    }

    /// Continues the activity with the closure `continuing`; if that returns `false`, opens the activity's document and
    /// restores its state.
    ///
    /// - Returns: `false` if the activity was not continued: `continuing` returned `false` and the activity has no
    ///   document.
    /// - Throws: the errors of both closures.
    public func continueUserActivity(
        _ activity: UserActivity,
        restore: @escaping @Sendable ([any ActivityRestoring]) async -> Void
    ) async throws -> Bool {
        if let continuing, try await continuing(activity) { return true }
        guard let document = activity.userInfo[DocumentActivity.documentKey]?.url, document.isFileURL else {
            return false
        }
        await restore(try await self.open(document))
        return true
    }
}
