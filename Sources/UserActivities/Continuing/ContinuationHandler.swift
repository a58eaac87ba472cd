// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The part of an application that continues activities of other systems.
///
/// The methods are called in this order: ``willContinueUserActivity(type:)``, ``didProgress(_:)`` any number of times,
/// ``didUpdateUserActivity(_:)``, ``continueUserActivity(_:restore:)``. A failure at any point is reported by
/// ``didFailToContinueUserActivity(type:error:)``, and nothing follows it.
public protocol ContinuationHandler: Sendable {
    /// Decides whether the application continues an activity now, and prepares its user interface.
    ///
    /// Nothing of the activity's content has been requested yet, and nothing is if the method returns `false`. The
    /// default returns `true`.
    ///
    /// - Parameter type: the type of the activity: one of those that the application handles, or
    ///   ``UserActivity/browsingWeb`` for a page of a site that its manifest claims.
    /// - Returns: whether to continue. If the method does not return within
    ///   ``UserActivityHost/Options/decisionTimeout``, the continuation fails with
    ///   ``ContinuationError/Code/timedOut``.
    func willContinueUserActivity(type: String) async -> Bool

    /// Reports how far a continuation is, for example to show that it takes long. The default does nothing.
    ///
    /// - Parameter progress: the step that begins. The continuation waits until the method returns.
    func didProgress(_ progress: ContinuationProgress)

    /// Called when the content has arrived, before the user interface is restored. The default does nothing.
    ///
    /// - Parameter activity: the activity with its content: the object that ``continueUserActivity(_:restore:)`` gets.
    func didUpdateUserActivity(_ activity: UserActivity) async

    /// Continues the activity: restores the user interface from it.
    ///
    /// The offering application has been notified. Streams to it can be opened from the activity until the method
    /// returns (``UserActivity/continuationStreams()``).
    ///
    /// If the method returns `false` or throws, or does not return within
    /// ``UserActivityHost/Options/continuationTimeout``, the activity goes back to the offering application, which
    /// offers it again. After the timeout the method's task is cancelled: it must not show the activity any more.
    ///
    /// - Parameters:
    ///   - activity: the activity.
    ///   - restore: calls ``ActivityRestoring/restoreUserActivityState(_:)`` of each object in the given order, one
    ///     after the other. An empty list has no effect.
    /// - Returns: whether the application continued the activity.
    /// - Throws: any error. A ``ContinuationError`` is reported as it is, for example with the code
    ///   ``ContinuationError/Code/versionNotSupported`` for content in an unknown version; another error is reported
    ///   as ``ContinuationError/Code/handlerFailed``.
    func continueUserActivity(
        _ activity: UserActivity,
        restore: @escaping ActivityRestoration
    ) async throws -> Bool

    /// Reports that a continuation has failed, also one about which ``willContinueUserActivity(type:)`` did not decide
    /// in time. Not called after it has returned `false`. The default does nothing.
    ///
    /// The caller of the continuation receives the error when the method returns, or after
    /// ``UserActivityHost/Options/decisionTimeout``.
    ///
    /// - Parameters:
    ///   - type: the type of the activity.
    ///   - error: the reason. Its message can be shown to the user.
    func didFailToContinueUserActivity(type: String, error: ContinuationError) async
}

/// Calls ``ActivityRestoring/restoreUserActivityState(_:)`` of each object in the given order, one after the other, and
/// returns when the last one has returned. An empty list has no effect.
public typealias ActivityRestoration = @Sendable ([any ActivityRestoring]) async -> Void

extension ContinuationHandler {
    /// The default implementation, which returns `true`.
    public func willContinueUserActivity(type: String) async -> Bool { true }
    /// The default implementation, which does nothing.
    public func didProgress(_ progress: ContinuationProgress) {}
    /// The default implementation, which does nothing.
    public func didUpdateUserActivity(_ activity: UserActivity) async {}
    /// The default implementation, which does nothing.
    public func didFailToContinueUserActivity(type: String, error: ContinuationError) async {}
}

/// How far a continuation is.
public struct ContinuationProgress: Sendable, Hashable {
    /// The step of a continuation. Later versions may add steps: write a default case.
    public struct Step: Sendable, Hashable, CustomStringConvertible {
        /// The step's name.
        public let description: String

        /// This system connects to the offering one.
        public static let connecting = Step(description: "connecting")
        /// The offering application is asked for the content. It may have to save it first.
        public static let requesting = Step(description: "requesting")
        /// The content has arrived. It is confirmed to the offering application, and then continued here.
        public static let received = Step(description: "received")
    }

    /// The type of the activity.
    public let activityType: String
    /// The step that has begun.
    public let step: Step
}
