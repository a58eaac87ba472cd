// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import RemoteSystems
internal import Synchronization
package import UserActivities

/// Continues an activity in the web browser of this desktop.
package struct BrowserContinuation: Sendable {
    private let configuration: RemoteSystemsConfiguration

    /// - Parameter configuration: of the process that continues the activity.
    package init(_ configuration: RemoteSystemsConfiguration) { self.configuration = configuration }

    /// Opens the activity's web address in the default browser. Returns when the browser has it.
    ///
    /// - Returns: the browser's id, if it is known.
    /// - Throws: ``ContinuationError``.
    package func `continue`(_ offer: UserActivityOffer) async throws -> String? {
        let launcher = await DesktopURILauncher(stateDirectory: self.configuration.stateDirectory)
        let browser = Mutex<String?>(nil)
        let host = UserActivityHost(
            self.configuration,
            activityTypes: [offer.activityType],
            handler: .closure { activity in
                guard let address = activity.webpageURL?.absoluteString else {
                    throw ContinuationError(.payloadInvalid, "The activity has no web address.", side: .remote)
                }
                let decision = await launcher.openWebpage(try LaunchURI(address))
                guard decision.status == .success else {
                    throw ContinuationError(
                        .noHandler,
                        decision.reason ?? "The web address was not opened.",
                        side: .local
                    )
                }
                browser.withLock { $0 = decision.applicationID }
            }
        )
        try await host.continueWebpage(of: offer)
        return browser.withLock { $0 }
    }
}
