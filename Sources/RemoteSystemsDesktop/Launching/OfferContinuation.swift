// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import UserActivities

/// Continues offers where the user, or a program for the user, has chosen.
struct OfferContinuation: Sendable {
    private let watcher: UserActivityWatcher
    private let webpages: WebpageContinuation

    init(_ watcher: UserActivityWatcher, _ configuration: RemoteSystemsConfiguration, _ resolver: WebpageResolver?) {
        self.watcher = watcher
        self.webpages = WebpageContinuation(watcher, configuration, resolver)
    }

    /// - Parameter receiver: the id of the application; `nil` for the only one, or the browser if there is none.
    /// - Returns: the application that has continued it, or the browser, if it is known.
    func `continue`(_ offer: UserActivityOffer, in receiver: String?) async throws -> String? {
        switch self.watcher.choice(for: offer, in: receiver) {
        case .application(let application):
            try await application.continue(offer)
            return application.id
        case .browser:
            return try await self.webpages.continue(offer)
        case .applications(let applications):
            throw ContinuationError(
                .noHandler,
                "Several applications continue this activity: \(applications.map(\.id).joined(separator: ", ")). "
                    + "Choose one.",
                side: .local
            )
        case .none:
            throw ContinuationError(.noHandler, "Nothing on this system continues this activity now.", side: .local)
        }
    }
}
