// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Starts the service extensions of this system's applications.
package protocol ServiceExtensionPrograms: Sendable {
    /// Whether an application is installed and has an extension. Asked for each notification that may be changed.
    func hasExtension(_ application: String) -> Bool
    /// Starts the extension of an application.
    ///
    /// - Returns: `nil` if the application has none, or is not installed.
    /// - Throws: ``NotificationError`` that says why it does not start.
    func start(_ application: String) async throws(NotificationError) -> (any ExtensionProgram)?
    /// Ends the extensions that run. Others are not started any more.
    func stop() async
}
