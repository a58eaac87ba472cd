// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystems
internal import ServiceLifecycle
package import UserActivities

/// Shows what can be continued on this system as notifications of the desktop, and continues what the user chooses.
package actor OfferPresenter: Service {
    /// The minimum time between two changes of the notifications. Another system could change its title at any rate.
    private static let interval = Duration.milliseconds(500)

    private let configuration: RemoteSystemsConfiguration
    private let webpages: WebpageResolver?
    private let watcher: UserActivityWatcher
    private let desktop: DesktopNotifications
    private let report: @Sendable (Continued) -> Void
    private var notifications = OfferNotifications()
    private var offers: [UserActivityOffer] = []
    private var places: OfferNotificationPlaces

    /// An activity that was continued, or could not be.
    package struct Continued: Sendable {
        package var offer: UserActivityOffer
        /// The application that has continued it, or the browser, if it is known.
        package var application: String?
        package var failure: (any Error)?
    }

    /// - Parameters:
    ///   - webpages: finds the applications that show web pages. Defaults to `nil`: only the browser does.
    ///   - report: called after each activity that the user has chosen.
    package init(
        _ configuration: RemoteSystemsConfiguration,
        webpages: WebpageResolver? = nil,
        report: @escaping @Sendable (Continued) -> Void
    ) {
        self.configuration = configuration
        self.webpages = webpages
        self.watcher = UserActivityWatcher(configuration)
        self.desktop = DesktopNotifications(logger: configuration.logger)
        self.places = OfferNotificationPlaces(configuration)
        self.report = report
    }

    /// Serves until cancelled, or until a graceful shutdown. The notifications are then withdrawn.
    ///
    /// - Throws: `RemoteSystemError` with `identity` if the account cannot be used, or was left meanwhile.
    package func run() async throws {
        try await self.watcher.start()
        self.desktop.adopt(self.places.places)
        // What a server has not closed in time is closed by the next process.
        defer { if self.desktop.hasClosedAll { self.places.clear() } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.desktop.run() }
            group.addTask {
                await self.followOffers()
                // The offers end before the shutdown only when this system has left its account. The start throws the
                // reason.
                if !Task.isCancelled { try await self.watcher.start() }
            }
            group.addTask { await self.followUser() }
            // The desktop ends with the shutdown.
            try await group.next()
            group.cancelAll()
        }
        await self.watcher.stop()
    }

    private func followOffers() async {
        for await offers in self.watcher.changes {
            // Read before the change, which is one step: what the user does is handled while the files are read.
            let names = await self.readNames()
            self.set(offers, names)
            guard (try? await Task.sleep(for: Self.interval)) != nil else { return }
        }
    }

    private func followUser() async {
        await withDiscardingTaskGroup { group in
            for await event in self.desktop.events {
                switch event {
                case .locked(let isLocked):
                    self.notifications.lock(isLocked)
                    self.show()
                case .activated(let notification, let action, _):
                    let key = notification.key
                    // The user has read the present text, and not an earlier one.
                    guard self.notifications.notifications.contains(notification),
                        let (shown, receiver) = self.notifications.begin(key, action: action),
                        let offer = self.offers.first(where: { $0.id == shown.id && Self.key(of: $0) == key })
                    else {
                        self.show()
                        continue
                    }
                    self.show()
                    group.addTask { await self.continue(offer, shown, in: receiver) }
                case .shown(let notification, let place):
                    let wanted = self.notifications.notifications.map(\.key)
                    self.places.shown(notification.key, at: place, wanted: Set(wanted))
                case .replied, .closed, .notShown, .removed:
                    break
                }
            }
        }
    }

    private func set(_ offers: [UserActivityOffer], _ names: SystemNames) {
        self.offers = offers
        self.notifications.set(
            offers.compactMap { offer in
                let receivers: [RemoteSystemApplication]
                switch self.watcher.choice(for: offer) {
                case .application(let application): receivers = [application]
                case .applications(let applications): receivers = applications
                case .browser: receivers = []
                case .none: return nil
                }
                return OfferNotifications.Offer(
                    key: Self.key(of: offer),
                    id: offer.id,
                    title: offer.title ?? offer.activityType,
                    application: offer.applicationDisplayName,
                    system: names.shown(offer.system.displayName, of: offer.system.id),
                    receivers: receivers.map { .init(id: $0.id, name: $0.displayName) }
                )
            }
        )
        self.show()
    }

    private static func key(of offer: UserActivityOffer) -> String { "\(offer.system.id) \(offer.applicationID)" }

    /// Reads the names of the known systems of the account, and of those that are listed now, also of linked accounts.
    /// The account's files may be locked, so another thread waits for them.
    private func readNames() async -> SystemNames {
        let configuration = self.configuration
        var names = await BlockingCalls.run {
            (try? RemoteSystemsAccount(configuration).systemNames()) ?? SystemNames()
        }
        for system in self.watcher.systems { names.add(system.displayName, of: system.id) }
        return names
    }

    private func show() {
        self.desktop.present(self.notifications.notifications, isLocked: self.notifications.isLocked)
    }

    private func `continue`(
        _ offer: UserActivityOffer,
        _ shown: OfferNotifications.Offer,
        in receiver: String?
    ) async {
        var continued = Continued(offer: offer)
        do {
            continued.application = try await OfferContinuation(self.watcher, self.configuration, self.webpages)
                .continue(offer, in: receiver).id
        } catch {
            continued.failure = error
        }
        self.notifications.end(
            shown,
            failure: continued.failure.map { ($0 as? ContinuationError)?.message ?? "The activity was not continued." }
        )
        self.show()
        self.report(continued)
    }
}
