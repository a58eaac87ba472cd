// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import RemoteSystems
package import UserActivities

/// Continues offers where the user, or a program for the user, has chosen.
package struct OfferContinuation: Sendable {
    /// Where an offer was continued.
    package enum Receiver: Sendable, Hashable {
        case application(RemoteSystemApplication)
        /// The browser, or the application of the page's site, and its id if it is known. The reasons say in sentences
        /// why it is no other application.
        case browser(id: String?, reasons: [String])

        /// The id of the application or of the browser; `nil` for a browser whose id is not known.
        package var id: String? {
            switch self {
            case .application(let application): application.id
            case .browser(let id, _): id
            }
        }
    }

    private let watcher: UserActivityWatcher
    private let configuration: RemoteSystemsConfiguration
    private let webpages: WebpageContinuation
    private let host: @Sendable (_ application: String) async -> UserActivityHost?

    /// - Parameters:
    ///   - watcher: a watcher that lists the offers.
    ///   - configuration: of the process that continues them.
    ///   - resolver: finds the application of a web page's site; `nil` if only the browser shows pages.
    ///   - host: returns the host of an application that runs in this process, which then continues an offer without a
    ///     connection to it. Defaults to none.
    package init(
        _ watcher: UserActivityWatcher,
        _ configuration: RemoteSystemsConfiguration,
        _ resolver: WebpageResolver?,
        host: @escaping @Sendable (_ application: String) async -> UserActivityHost? = { _ in nil }
    ) {
        self.watcher = watcher
        self.configuration = configuration
        self.webpages = WebpageContinuation(watcher, configuration, resolver)
        self.host = host
    }

    /// Lets an application of this system continue the offer, or the browser.
    ///
    /// - Parameter receiver: the id of the application; `nil` for the only one, or the browser if there is none.
    /// - Throws: ``ContinuationError``.
    package func `continue`(_ offer: UserActivityOffer, in receiver: String?) async throws -> Receiver {
        switch self.watcher.choice(for: offer, in: receiver) {
        case .application(let application):
            if let host = await self.host(application.id) {
                try await host.continue(offer)
            } else {
                try await application.continue(offer)
            }
            return .application(application)
        case .browser:
            let passedOver = self.watcher.passedOver(for: offer)
            do {
                let shown = try await self.webpages.continue(offer)
                return .browser(id: shown.receiver, reasons: passedOver + shown.reasons)
            } catch var error as ContinuationError where error.code == .noHandler {
                error.message = ([error.message] + passedOver).joined(separator: " ")
                throw error
            }
        case .applications(let applications):
            throw ContinuationError(
                .noHandler,
                "Several applications continue activities of this type: "
                    + "\(applications.map(\.id).joined(separator: ", ")). State which one.",
                side: .local
            )
        case .none:
            throw await self.refusal(of: offer, in: receiver)
        }
    }

    /// The reason why nothing on this system continues the offer.
    private func refusal(of offer: UserActivityOffer, in receiver: String?) async -> ContinuationError {
        ContinuationError(
            notContinuing: offer.activityType,
            in: receiver,
            settings: try? HandOffSettings.read(self.configuration),
            findings: await self.watcher.findings(about: offer.id.uuidString, in: offer, browserProblem: nil)
        )
    }
}
