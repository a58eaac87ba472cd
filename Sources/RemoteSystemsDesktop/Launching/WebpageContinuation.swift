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
    /// - Returns: the id of the application or of the browser, if it is known.
    /// - Throws: ``ContinuationError``.
    package func `continue`(_ offer: UserActivityOffer) async throws -> String? {
        let opened = Mutex<String?>(nil)
        let host = UserActivityHost(
            self.configuration,
            activityTypes: [offer.activityType],
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

    private func open(_ page: URL, title: String?) async throws -> String? {
        if let application = await self.openInApplication(page, title: title) { return application }
        if let browser = await self.openInRunningBrowser(page, title: title) { return browser }
        let decision = await self.openInBrowser(try LaunchURI(page.absoluteString))
        guard decision.status == .success else {
            throw ContinuationError(.noHandler, decision.reason ?? "The web address was not opened.", side: .local)
        }
        return decision.applicationID
    }

    /// Lets a running browser with the extension show the page.
    ///
    /// - Returns: the id of its application; `nil` if there is none or it did not show the page.
    private func openInRunningBrowser(_ page: URL, title: String?) async -> String? {
        let running = self.watcher.systems.first(where: \.isLocal)?.applications
            .first { BuiltInApplication.isWebBrowser($0.id) }
        guard let running else { return nil }
        do {
            try await running.continue(webpage: page, title: title, timeout: Self.applicationTimeout)
            return running.id
        } catch {
            self.configuration.logger.warning(
                "The browser's extension did not show a page; the default browser does",
                metadata: ["application": "\(running.id)", "reason": "\(error)"]
            )
            return nil
        }
    }

    /// Lets the site's application show the page.
    ///
    /// - Returns: the application's id; `nil` if there is none or it did not show the page.
    private func openInApplication(_ page: URL, title: String?) async -> String? {
        guard let resolver, let settings = try? HandOffSettings.read(self.configuration) else { return nil }
        guard
            let (id, entry) = await resolver.application(for: page, where: { settings.permission(of: $0).receiving })
        else { return nil }
        do {
            guard let application = self.watcher.systems.first(where: \.isLocal)?.application(id) else {
                throw ContinuationError(.noHandler, "The application is not listed on this system.", side: .local)
            }
            guard self.isProven(application, entry) else {
                throw ContinuationError(
                    .notAuthorized,
                    "The publisher of the application that runs is not proven to be that of its manifest.",
                    side: .local
                )
            }
            try await application.continue(webpage: page, title: title, timeout: Self.applicationTimeout)
            return id
        } catch {
            self.configuration.logger.warning(
                "An application did not show a page; the browser does",
                metadata: ["application": "\(id)", "reason": "\(error)"]
            )
            return nil
        }
    }

    /// Whether the daemon vouches that the application's process is that of the manifest whose publisher the site has
    /// approved. Any program of the user can run under the application's id.
    package static func isProven(_ application: RemoteSystemApplication, entry: String) -> Bool {
        guard case .proven(let publisher) = application.publisher else { return false }
        return PublishedApplicationID(publisher: publisher, application: application.id)?.description == entry
    }
}
