// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
package import RemoteSystems
internal import UserActivities

/// Hands over the page of a web browser, and opens pages of other systems in it.
///
/// The browser's extension starts this process and talks to it (`Extensions/browser`). It is an application of its
/// own until the browser ends it.
package actor WebBrowser {
    /// The minimum time between two changes of the offered page, and between two lists of offers.
    private static let interval = Duration.milliseconds(300)
    /// The time that the browser has to open a page.
    private static let openTimeout = Duration.seconds(10)
    /// The maximum number of offers that the browser is sent, and of pages that are opened at the same time.
    private static let maxOffers = 32
    private static let maxOpening = 8

    private let configuration: RemoteSystemsConfiguration
    private let connection = BrowserConnection()
    private let watcher: UserActivityWatcher
    /// The page that the user sees.
    private var page: BrowserPage?
    private let pageChanged: AsyncStream<Void>.Continuation
    private let pageChanges: AsyncStream<Void>
    private var current: (page: BrowserPage, activity: UserActivity, origin: Origin)?
    private var opening: [Int: CheckedContinuation<String?, Never>] = [:]
    private var lastNumber = 0

    /// - Parameter browser: a name such as `chromium`. Each browser is an application of its own.
    package init(_ configuration: RemoteSystemsConfiguration, browser: String) {
        var configuration = configuration
        configuration.applicationID = "\(BuiltInApplication.webBrowser).\(browser)"
        self.configuration = configuration
        self.watcher = UserActivityWatcher(configuration)
        (self.pageChanges, self.pageChanged) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Serves until the browser ends the connection, or the task is cancelled.
    ///
    /// - Throws: `RemoteSystemError` when the application cannot run, or the browser breaks a rule; its extension has
    ///   received the reason.
    package func run() async throws {
        do {
            try await self.serve()
            await self.connection.flush()
        } catch let error as RemoteSystemError {
            self.connection.send(.failed(code: "\(error.code)", message: error.message, id: nil))
            await self.connection.flush()
            throw error
        }
    }

    private func serve() async throws {
        var options = UserActivityHost.Options()
        options.host.displayName = "Web browser"
        options.isBuiltIn = true
        // If the browser does not open a page, the origin keeps the activity.
        options.continuesBeforeConfirmation = true
        let host = UserActivityHost(
            self.configuration,
            activityTypes: [UserActivity.browsingWeb],
            options: options,
            handler: .closure { [weak self] activity in try await self?.open(activity) }
        )
        try await self.watcher.start()
        defer { self.connection.stop() }
        // The result of each task: whether the program ends with it.
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await self.read()
                return true
            }
            group.addTask {
                try await host.run()
                return true
            }
            group.addTask {
                // The host's own run() throws the reason if it does not start.
                guard (try? await host.host.port) != nil else { return false }
                self.connection.send(.ready(application: self.configuration.applicationID))
                await self.followPage(host)
                return false
            }
            group.addTask {
                await self.followOffers()
                return false
            }
            group.addTask {
                await self.followMessages()
                return false
            }
            defer { group.cancelAll() }
            for try await isEnd in group where isEnd { break }
        }
        await self.watcher.stop()
    }

    private func read() async throws {
        let result = await withTaskCancellationHandler {
            await BlockingCalls.run { [connection] in
                Result { () throws(BrowserConnection.Cut) in try connection.run() }
            }
        } onCancel: {
            self.connection.stop()
        }
        guard case .failure(let cut) = result else { return }
        let text: String
        switch cut {
        case .tooLong(let bytes):
            text =
                "The browser announced a message of \(bytes) bytes; at most \(NativeMessages.maxBytes) are accepted. "
                + "The connection to it is closed."
        case .flood: text = "The browser sends more messages than can be handled. The connection to it is closed."
        case .stuck: text = "The browser does not read its messages. The connection to it is closed."
        case .invalid(let reason): text = "Too many messages of the browser are not valid. The last one: \(reason)"
        }
        throw RemoteSystemError(.invalidMessage, text, side: .local)
    }

    private func followMessages() async {
        await withDiscardingTaskGroup { group in
            for await message in self.connection.messages {
                switch message {
                case .page(let page):
                    self.page = page
                    self.pageChanged.yield()
                case .leave:
                    self.page = nil
                    self.pageChanged.yield()
                case .continue(let id): group.addTask { await self.continue(id) }
                case .opened(let number, let failure):
                    self.opening.removeValue(forKey: number)?.resume(returning: failure)
                }
            }
            for waiting in self.opening.values { waiting.resume(returning: "The browser has ended.") }
            self.opening = [:]
        }
    }

    // MARK: Offering

    private func followPage(_ host: UserActivityHost) async {
        for await _ in self.pageChanges {
            await self.offer(host)
            guard (try? await Task.sleep(for: Self.interval)) != nil else { return }
        }
    }

    private func offer(_ host: UserActivityHost) async {
        guard self.current?.page != self.page else { return }
        // Also if another system has continued the page: a new title does not offer it again.
        if let current, let page, current.page.address == page.address {
            self.current?.page = page
            current.activity.title = page.title
            return
        }
        self.current?.activity.invalidate()
        self.current = nil
        guard let page else { return }
        let activity = UserActivity(type: UserActivity.browsingWeb, title: page.title)
        activity.webpageURL = page.address
        let origin = Origin(self.connection, self.watcher)
        activity.delegate = origin
        self.current = (page, activity, origin)
        do {
            try await activity.becomeCurrent(at: host)
        } catch {
            self.current = nil
            let reason = (error as? RemoteSystemError)?.message ?? "The page is not offered."
            self.connection.send(.failed(code: "notOffered", message: reason, id: nil))
        }
    }

    /// Notifies the browser that its page was continued, or returned: it is then offered again.
    private final class Origin: UserActivityDelegate {
        private let connection: BrowserConnection
        private let watcher: UserActivityWatcher

        init(_ connection: BrowserConnection, _ watcher: UserActivityWatcher) {
            self.connection = connection
            self.watcher = watcher
        }

        func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
            self.connection.send(.handedOver(system: self.name(of: receiver), title: activity.title))
        }

        func userActivityWasReturned(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
            self.connection.send(.returned(system: self.name(of: receiver), title: activity.title))
        }

        private func name(of receiver: UserActivityReceiver) -> String {
            self.watcher.systems.first { $0.id == receiver.systemID }?.displayName ?? receiver.systemID.short
        }
    }

    // MARK: Continuing

    private func followOffers() async {
        for await offers in self.watcher.changes {
            let shown = offers.filter(\.hasWebpage).prefix(Self.maxOffers).map { offer in
                BrowserOrder.Offer(
                    id: offer.shownID,
                    title: offer.title ?? offer.applicationDisplayName,
                    application: offer.applicationDisplayName,
                    system: offer.system.displayName
                )
            }
            self.connection.send(.offers(shown))
            guard (try? await Task.sleep(for: Self.interval)) != nil else { return }
        }
    }

    private func `continue`(_ id: String) async {
        do {
            // As the browser lists them.
            guard let offer = try self.watcher.offers.filter(\.hasWebpage).offer(withID: id) else {
                throw ContinuationError(.activityUnknown, "No other system offers this page any more.", side: .local)
            }
            var options = UserActivityHost.Options()
            options.continuesBeforeConfirmation = true
            let host = UserActivityHost(
                self.configuration,
                activityTypes: [offer.activityType],
                options: options,
                handler: .closure { [weak self] activity in try await self?.open(activity) }
            )
            try await host.continueWebpage(of: offer)
            self.connection.send(.continued(id: id))
        } catch let error as AmbiguousOffer {
            self.connection.send(.failed(code: "invalidArgument", message: error.message, id: id))
        } catch {
            let error = error as? ContinuationError
            self.connection.send(
                .failed(code: "\(error?.code ?? .handlerFailed)", message: error?.message ?? "It failed.", id: id)
            )
        }
    }

    /// Opens the page of an activity in the browser. Returns when the browser has it.
    private func open(_ activity: UserActivity) async throws {
        guard let address = activity.webpageURL?.absoluteString else {
            throw ContinuationError(.payloadInvalid, "The activity has no web address.", side: .remote)
        }
        guard self.opening.count < Self.maxOpening else {
            throw ContinuationError(
                .busy,
                "The browser opens \(Self.maxOpening) other pages at this moment.",
                side: .local,
                canRetry: true
            )
        }
        self.lastNumber += 1
        let number = self.lastNumber
        let alarm = Task {
            guard (try? await Task.sleep(for: Self.openTimeout)) != nil else { return }
            self.opening.removeValue(forKey: number)?.resume(returning: "It did not respond in time.")
        }
        defer { alarm.cancel() }
        let failure = await withCheckedContinuation { waiting in
            self.opening[number] = waiting
            self.connection.send(.open(number: number, url: address))
        }
        guard let failure else { return }
        throw ContinuationError(.handlerFailed, "The browser did not open the page: \(failure)", side: .local)
    }
}
