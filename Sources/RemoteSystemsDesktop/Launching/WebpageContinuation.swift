// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
package import RemoteSystems
internal import Synchronization
package import UserActivities

/// Continues an activity by its web address: in the application that claims the page's domain and that the site
/// approves, otherwise in the default browser of this desktop.
package struct WebpageContinuation: Sendable {
    /// The time for an application to start and to show the page. After it, the browser shows the page.
    static let applicationTimeout = Duration.seconds(15)

    /// What shows a page.
    package struct Shown: Sendable, Hashable {
        /// The id of the application or of the browser, if it is known.
        package var receiver: String?
        /// Why applications that claim the page, or the running browser, did not show it: one sentence each.
        package var reasons: [String] = []
    }

    private let watcher: UserActivityWatcher
    private let configuration: RemoteSystemsConfiguration
    private let resolver: WebpageResolver?
    private let isProven: @Sendable (_ application: RemoteSystemApplication, _ entry: String) -> Bool
    private let openInBrowser: @Sendable (LaunchURI) async -> LaunchURIDecision

    /// - Parameters:
    ///   - watcher: lists the applications of this system.
    ///   - configuration: that of the process that continues the activity.
    ///   - resolver: finds the application for a page; `nil` if only the browser shows pages.
    package init(
        _ watcher: UserActivityWatcher,
        _ configuration: RemoteSystemsConfiguration,
        _ resolver: WebpageResolver?
    ) {
        self.init(watcher, configuration, resolver) { uri in
            await DesktopURILauncher(stateDirectory: configuration.stateDirectory).openWebpage(uri)
        }
    }

    /// - Parameters:
    ///   - isProven: whether an application is the one that sites list under an entry. Defaults to what the host daemon
    ///     vouches for.
    ///   - openInBrowser: opens an address in the browser.
    package init(
        _ watcher: UserActivityWatcher,
        _ configuration: RemoteSystemsConfiguration,
        _ resolver: WebpageResolver?,
        isProven: @escaping @Sendable (_ application: RemoteSystemApplication, _ entry: String) -> Bool = Self.isProven,
        openInBrowser: @escaping @Sendable (LaunchURI) async -> LaunchURIDecision
    ) {
        self.watcher = watcher
        self.configuration = configuration
        self.resolver = resolver
        self.isProven = isProven
        self.openInBrowser = openInBrowser
    }

    /// Opens the activity's web address. Returns when the application or the browser has it.
    ///
    /// - Returns: what shows the page.
    /// - Throws: ``ContinuationError``.
    package func `continue`(_ offer: UserActivityOffer) async throws -> Shown {
        let opened = Mutex(Shown())
        // Only the attempt shows whether anything here opens the page. If nothing does, the origin keeps the activity.
        var options = UserActivityHost.Options()
        options.continuesBeforeConfirmation = true
        let host = UserActivityHost(
            self.configuration,
            activityTypes: [offer.activityType],
            options: options,
            handler: .closure { activity in
                guard let page = activity.webpageURL else {
                    throw ContinuationError(.payloadInvalid, "The activity has no web address.", side: .remote)
                }
                let receiver = try await self.open(page, title: activity.title)
                opened.withLock { $0 = receiver }
            }
        )
        try await host.continueWebpage(of: offer)
        return opened.withLock { $0 }
    }

    private func open(_ page: URL, title: String?) async throws -> Shown {
        var shown = Shown()
        if await self.isOpenedByApplication(page, title: title, &shown) { return shown }
        if await self.isOpenedByRunningBrowser(page, title: title, &shown) { return shown }
        let decision = await self.openInBrowser(try LaunchURI(page.absoluteString))
        guard decision.status == .success else {
            let reason = decision.reason ?? "The web address was not opened."
            throw ContinuationError(
                .noHandler,
                ([reason] + shown.reasons).joined(separator: " "),
                side: .local
            )
        }
        shown.receiver = decision.applicationID
        return shown
    }

    /// Lets a running browser with the extension show the page.
    ///
    /// - Returns: `false` if there is none or it did not show the page.
    private func isOpenedByRunningBrowser(_ page: URL, title: String?, _ shown: inout Shown) async -> Bool {
        let running = self.watcher.systems.first(where: \.isLocal)?.applications
            .first { BuiltInApplication.isWebBrowser($0.id) }
        guard let running else { return false }
        do throws(ContinuationError) {
            try await running.continue(webpage: page, title: title, timeout: Self.applicationTimeout)
            shown.receiver = running.id
            return true
        } catch {
            self.configuration.logger.warning(
                "The browser's extension did not show a page; the default browser does",
                metadata: ["application": "\(running.id)", "reason": "\(error)"]
            )
            shown.reasons.append("The extension of the running browser did not show the page: \(error.message)")
            return false
        }
    }

    /// Lets the site's application show the page.
    ///
    /// - Returns: `false` if there is none or it did not show the page.
    private func isOpenedByApplication(_ page: URL, title: String?, _ shown: inout Shown) async -> Bool {
        guard let resolver, let settings = try? HandOffSettings.read(self.configuration) else { return false }
        let found = await resolver.application(for: page, where: { settings.permission(of: $0).receiving })
        shown.reasons = found.reasons
        guard let id = found.application, let entry = found.entry else { return false }
        do throws(ContinuationError) {
            guard let application = self.watcher.systems.first(where: \.isLocal)?.application(id) else {
                throw ContinuationError(
                    .noHandler,
                    "It does not run, and no host daemon runs that starts it.",
                    side: .local
                )
            }
            guard self.isProven(application, entry) else {
                throw ContinuationError(
                    .notAuthorized,
                    "The publisher of the application that runs is not proven to be that of its manifest.",
                    side: .local
                )
            }
            try await application.continue(webpage: page, title: title, timeout: Self.applicationTimeout)
            shown.receiver = id
            return true
        } catch {
            self.configuration.logger.warning(
                "An application did not show a page; the browser does",
                metadata: ["application": "\(id)", "reason": "\(error)"]
            )
            shown.reasons.append("\(id) did not show the page: \(error.message)")
            return false
        }
    }

    /// Whether the daemon vouches that the application's process is that of the manifest whose publisher the site has
    /// approved. Any program of the user can run under the application's id.
    package static func isProven(_ application: RemoteSystemApplication, entry: String) -> Bool {
        guard case .proven(let publisher) = application.publisher else { return false }
        return PublishedApplicationID(publisher: publisher, application: application.id)?.description == entry
    }
}
