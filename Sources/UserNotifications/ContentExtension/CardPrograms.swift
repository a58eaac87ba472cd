// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Starts the content extensions of this system's applications, and the program that shows their views.
package protocol CardPrograms: Sendable {
    /// The reason why notifications of an application and a category have no view that can be shown now, as a sentence
    /// in lower case; `nil` if they have one. Asked for each notification.
    func problem(_ application: String, _ category: String) -> String?
    /// Starts both programs for a notification.
    ///
    /// - Throws: ``NotificationError`` that says why one of them does not start.
    func open(_ application: String, _ category: String) async throws(NotificationError) -> OpenedCard
    /// Ends all that run. Others are not started any more.
    func stop() async
}

/// The two programs of a view that is shown.
package struct OpenedCard: Sendable {
    /// The program of the application.
    package var `extension`: any ExtensionProgram
    /// The program with the window.
    package var window: any ExtensionProgram
    /// Whether the texts of the notification are left out, because the view has them.
    package var hidesDefaultContent: Bool
    /// The height of the view in relation to its width, until the extension has responded.
    package var initialRatio: Double

    package init(
        extension program: any ExtensionProgram,
        window: any ExtensionProgram,
        hidesDefaultContent: Bool,
        initialRatio: Double
    ) {
        (self.extension, self.window) = (program, window)
        (self.hidesDefaultContent, self.initialRatio) = (hidesDefaultContent, initialRatio)
    }
}
