// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A handler that continues activities with one closure.
public struct ClosureContinuationHandler: ContinuationHandler {
    let body: @Sendable (UserActivity) async throws -> Void

    /// Calls the closure. An error that it throws ends the continuation.
    public func continueUserActivity(
        _ activity: UserActivity,
        restore: @escaping @Sendable ([any ActivityRestoring]) async -> Void
    ) async throws -> Bool {
        try await self.body(activity)
        return true
    }
}

extension ContinuationHandler where Self == ClosureContinuationHandler {
    /// A handler that continues every activity with a closure.
    ///
    /// - Parameter body: continues an activity. An error that it throws ends the continuation.
    public static func closure(_ body: @escaping @Sendable (UserActivity) async throws -> Void) -> Self {
        ClosureContinuationHandler(body: body)
    }
}
