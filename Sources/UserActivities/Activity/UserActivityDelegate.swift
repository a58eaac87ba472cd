// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Keeps the content of an activity current, and learns what happens to it.
///
/// The methods are called from tasks of the host, not from a particular thread.
public protocol UserActivityDelegate: AnyObject, Sendable {
    /// Called before the content is sent or stored, if ``UserActivity/needsSave`` was set, and after the responders.
    /// The flag is cleared already. The default does nothing.
    ///
    /// Write the newest state into the activity here. After ``UserActivityHost/Options/saveTimeout`` the last saved
    /// state is sent, marked as stale.
    func userActivityWillSave(_ activity: UserActivity) async

    /// Called when an application on another system has continued the activity. The default does nothing.
    ///
    /// The content has arrived there, and is about to be restored. The application may have to give up the task here,
    /// for example if it adds something that must not be added twice. If the other application fails to restore it,
    /// ``userActivityWasReturned(_:by:)`` follows.
    func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async

    /// Called when the application that continued the activity has failed to do so, and the activity is back at this
    /// application. The default does nothing.
    ///
    /// It follows ``userActivityWasContinued(_:by:)``, and begins when that method has returned, or after
    /// ``UserActivityHost/Options/saveTimeout``. The activity is current and offered again, unless it has ended, or an
    /// activity of the application has become current since: read ``UserActivity/isCurrent``. The content is that which
    /// was sent. Take the task up again here if it was given up.
    ///
    /// It is not called if the connection to the other system is lost, or if that system runs an older version.
    func userActivityWasReturned(_ activity: UserActivity, by receiver: UserActivityReceiver) async

    /// Called when the application that continued the activity has opened streams. The default aborts them.
    ///
    /// It is called once for each pair that is opened, and may be called for several at the same time.
    ///
    /// - Parameters:
    ///   - activity: the activity that was continued.
    ///   - input: what the other application writes.
    ///   - output: what the other application reads.
    func userActivity(
        _ activity: UserActivity,
        didReceive input: ContinuationInputStream,
        _ output: ContinuationOutputStream
    ) async
}

extension UserActivityDelegate {
    /// The default implementation, which does nothing.
    public func userActivityWillSave(_ activity: UserActivity) async {}
    /// The default implementation, which does nothing.
    public func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async {}
    /// The default implementation, which does nothing.
    public func userActivityWasReturned(_ activity: UserActivity, by receiver: UserActivityReceiver) async {}
    /// The default implementation, which aborts the streams.
    public func userActivity(
        _ activity: UserActivity,
        didReceive input: ContinuationInputStream,
        _ output: ContinuationOutputStream
    ) async {
        output.abort("The application does not use the streams.")
    }
}

/// An object that takes its state from a continued activity.
public protocol ActivityRestoring: Sendable {
    /// Restores the object's state from the activity's content. Unknown keys are to be ignored.
    func restoreUserActivityState(_ activity: UserActivity) async
}
