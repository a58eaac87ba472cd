// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
public import RemoteSystems
public import ServiceLifecycle
internal import Synchronization
public import UserNotifications
internal import ValueSets

/// Shows notifications with the notification server of the session bus (Desktop Notifications Specification 1.3).
///
/// ```swift
/// let presenter = SessionPresenter(configuration)
/// let center = UserNotificationCenter(presenter: presenter, applicationName: "Calendar")
/// try await withThrowingTaskGroup(of: Void.self) { group in
///     group.addTask { try await presenter.run() }
///     …
/// }
/// ```
///
/// Nothing is shown before ``run()``. At most four messages of one system, of one linked account, or of one application
/// of this system, and 16 of all are on the screen, and as many questions and critical notifications. A newer message
/// takes the place of the oldest one, which is then reported as `expired`. A question without a place is shown as
/// others end.
public final class SessionPresenter: PlacedNotificationPresenter, BadgePresenter, Service {
    private struct State {
        var screen = NotificationScreen()
        /// Whether the session is locked; `nil` before that is known. Nothing is shown until then.
        var isLocked: Bool?
        /// The identifiers of the notifications that the server has shown in their present content.
        var confirmed: Set<String> = []
        /// Those that the server has shown while the session was not locked.
        private var seen: Set<String> = []
        /// The last call of ``show(_:)`` that waits for the server, by the notification's identifier. `nil` in the
        /// stream: the server shows it.
        var waiting: [String: AsyncStream<String?>.Continuation] = [:]
        var places = NotificationPlaces()
        /// The media types that no application opens.
        var unopenedTypes: Set<String> = []
        /// The activities that are being continued here.
        var continuations = ContinuationNotices()

        var notifications: [DesktopNotification] {
            guard let isLocked = self.isLocked else { return [] }
            return self.screen.shown.map { self.notification($0, isLocked) }
                + self.continuations.notifications(isLocked: isLocked)
        }

        private func notification(_ notification: PresentedNotification, _ isLocked: Bool) -> DesktopNotification {
            let opensMedia = notification.media.map { !self.unopenedTypes.contains($0.mediaType) } ?? true
            return DesktopNotification(notification, isLocked: isLocked, opensMedia: opensMedia)
        }

        /// Whether this is the newest content of its notification.
        func isCurrent(_ notification: DesktopNotification) -> Bool {
            guard let isLocked = self.isLocked, let newest = self.screen[notification.key] else { return false }
            return self.notification(newest, isLocked) == notification
        }

        /// The server shows a notification.
        mutating func confirm(_ identifier: String) {
            self.confirmed.insert(identifier)
            if self.isLocked == false { self.seen.insert(identifier) }
        }

        /// The server does not show a notification, or not in its present content.
        mutating func refute(_ identifier: String) {
            self.confirmed.remove(identifier)
            self.seen.remove(identifier)
        }

        mutating func setLocked(_ isLocked: Bool) {
            self.isLocked = isLocked
            // Its user is back.
            if !isLocked { self.seen.formUnion(self.screen.shown.map(\.identifier).filter(self.confirmed.contains)) }
        }

        /// The screen shows a notification no longer, and is not to show it again.
        mutating func remove(_ identifier: String) {
            self.screen.remove(identifier)
            self.refute(identifier)
        }

        /// Removes the messages that were seen and whose places newer ones have taken. The others are shown as these
        /// end.
        ///
        /// - Returns: their identifiers.
        mutating func removeDisplaced() -> [String] {
            let seen = self.seen
            let displaced = self.screen.removeDisplaced { seen.contains($0) }
            for identifier in displaced { self.refute(identifier) }
            return displaced
        }
    }

    /// The user's events, such as a chosen action. Only one task may iterate over them.
    public let events: AsyncStream<NotificationPresenterEvent>
    private let feed: AsyncStream<NotificationPresenterEvent>.Continuation
    package let places: AsyncStream<[String: String]>
    private let placeFeed: AsyncStream<[String: String]>.Continuation
    private let desktop: DesktopNotifications
    let logger: Logger
    let stateDirectory: String?
    private let state = Mutex(State())

    /// Creates a presenter.
    ///
    /// - Parameter configuration: The application's configuration, whose logger is used.
    public init(_ configuration: RemoteSystemsConfiguration) {
        // The events of a user. More can only come from a program that pretends to be the server.
        (self.events, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
        // Each element is complete.
        (self.places, self.placeFeed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.desktop = DesktopNotifications(logger: configuration.logger)
        (self.logger, self.stateDirectory) = (configuration.logger, configuration.stateDirectory)
    }

    /// The capabilities that every server has. A server with a text field shows that, too.
    public var capabilities: NotificationPresenterCapabilities { [.actions, .body, .dismissal] }

    /// Shows notifications until the task is cancelled or a graceful shutdown begins, and then closes them.
    public func run() async throws {
        defer {
            self.feed.finish()
            self.placeFeed.finish()
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.desktop.run() }
            group.addTask { for await event in self.desktop.events { self.received(event) } }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Returns when the server shows the notification. Waits for at most 3 s, and not at all for a server that has not
    /// responded to an earlier call.
    ///
    /// - Parameter notification: The notification.
    /// - Throws: `NotificationError` with the code `notShown`, or `CancellationError` if the task is cancelled before.
    ///   The notification is shown when that is possible.
    public func show(_ notification: PresentedNotification) async throws {
        if let media = notification.media {
            let isOpened = await media.hasApplication
            self.state.withLock { state in
                state.unopenedTypes.remove(media.mediaType)
                if !isOpened { state.unopenedTypes.insert(media.mediaType) }
            }
        }
        let (results, waiting) = AsyncStream.makeStream(of: String?.self, bufferingPolicy: .bufferingOldest(1))
        self.update { state in
            if state.screen[notification.identifier] != notification {
                state.screen.insert(notification)
                state.refute(notification.identifier)
            }
            guard state.screen.shown.contains(notification) else {
                _ = waiting.yield("Too many notifications are shown at the same time.")
                return
            }
            guard !state.confirmed.contains(notification.identifier) else {
                _ = waiting.yield(nil)
                return
            }
            // Others do not wait for it, one after the other.
            guard !self.desktop.isServerSilent else {
                _ = waiting.yield("The notification server has not responded to an earlier call.")
                return
            }
            state.waiting.updateValue(waiting, forKey: notification.identifier)?.yield("Another one replaces it.")
        }
        BlockingCalls.after(Self.showTime) { _ = waiting.yield("The notification server does not respond.") }
        for await reason in results {
            guard let reason else { return }
            throw NotificationError(.notShown, reason)
        }
        // The stream ends without an element if the task is cancelled.
        try Task.checkCancellation()
    }

    /// The time in which the server shows a notification.
    private static let showTime = Duration.seconds(3)

    /// The server shows a notification, or does not for a reason.
    private func ended(_ notification: DesktopNotification, _ reason: String?) {
        self.state.withLock { state -> AsyncStream<String?>.Continuation? in
            guard state.isCurrent(notification) else { return nil }
            reason == nil ? state.confirm(notification.key) : state.refute(notification.key)
            // Newer ones may have taken its place meanwhile.
            self.reportDisplaced(&state)
            return state.waiting.removeValue(forKey: notification.key)
        }?.yield(reason)
    }

    /// Removes a notification from the screen. Does nothing if it is not shown.
    ///
    /// - Parameter identifier: The identifier of the notification.
    public func close(_ identifier: String) async {
        self.update { state in
            state.remove(identifier)
            state.waiting.removeValue(forKey: identifier)?.yield("It was withdrawn.")
        }
    }

    /// The time after which a continuation takes long.
    private static let continuationTime = Duration.seconds(1)

    /// Shows that an activity is being continued here, if that takes long.
    ///
    /// - Returns: its number, for ``endContinuation(_:)``.
    func beginContinuation(_ title: String) -> Int {
        let number = self.state.withLock { $0.continuations.begin(title) }
        BlockingCalls.after(Self.continuationTime) { [weak self] in
            guard let self, self.state.withLock({ $0.continuations.takesLong(number) }) else { return }
            self.update { _ in }
        }
        return number
    }

    func endContinuation(_ number: Int) {
        guard self.state.withLock({ $0.continuations.end(number) }) else { return }
        self.update { _ in }
    }

    package func setBadge(_ count: Int, of desktopEntry: String) { self.desktop.setBadge(count, of: desktopEntry) }

    package func shownTogether(of notifications: [PresentedNotification]) -> [PresentedNotification] {
        NotificationScreen.shown(of: notifications)
    }

    package func adopt(_ places: [String: String]) {
        let adopted = NotificationPlaces(texts: places)
        self.state.withLock { $0.places = adopted }
        self.desktop.adopt(adopted.places)
    }

    private func updatePlaces(_ change: (inout NotificationPlaces) -> Void) {
        self.state.withLock { state in
            change(&state.places)
            self.placeFeed.yield(state.places.texts)
        }
    }

    /// Inside the lock, so that the desktop gets changes in their order.
    private func update(_ change: (inout State) -> Void) {
        self.state.withLock { state in
            change(&state)
            self.reportDisplaced(&state)
            self.desktop.present(state.notifications, isLocked: state.isLocked)
        }
    }

    /// The time on the screen is over for the messages whose places newer ones have taken.
    private func reportDisplaced(_ state: inout State) {
        for identifier in state.removeDisplaced() {
            self.feed.yield(.closed(identifier: identifier, reason: .expired))
        }
    }

    private func received(_ event: DesktopNotificationEvent) {
        switch event {
        case .shown(let notification, let place):
            // Before ``show(_:)`` returns. One that is not wanted any more is there until it is closed.
            self.updatePlaces { $0.shown(notification.key, at: place) }
            self.ended(notification, nil)
        case .removed(let place):
            self.updatePlaces { $0.removed(place) }
        case .notShown(let notification, let reason):
            self.ended(notification, "No notification server shows it: \(reason)")
        case .activated(let notification, let action, let token):
            self.chosen(notification, action, text: nil, token)
        case .replied(let notification, let action, let text):
            self.chosen(notification, action, text: text)
        case .closed(let notification, let byUser):
            // On a locked screen, everyone who passes by could close it. It is shown again after that.
            guard !self.isLocked else { return }
            let key = notification.key
            var isCurrent = false
            self.update { state in
                // A newer one may have replaced it meanwhile, or it states only that an activity is being continued.
                isCurrent = state.isCurrent(notification) && state.notifications.contains(notification)
                guard isCurrent else { return }
                state.remove(key)
            }
            if isCurrent { self.feed.yield(.closed(identifier: key, reason: byUser ? .dismissed : .expired)) }
        case .locked(let isLocked):
            self.update { $0.setLocked(isLocked) }
        }
    }

    /// The time in which something follows from a choice of the user.
    private static let choiceTime = Duration.seconds(2)

    private var isLocked: Bool { self.state.withLock { $0.isLocked } ?? true }

    private func chosen(
        _ notification: DesktopNotification,
        _ action: String,
        text: String?,
        _ token: String? = nil
    ) {
        // On a locked screen, everyone who passes by could choose. A choice that concerns an older content is none of
        // the newer one, which is shown next.
        let (isCurrent, shown) = self.state.withLock { state in
            (
                state.isLocked == false && state.isCurrent(notification),
                state.screen[notification.key]
            )
        }
        // A choice from which nothing follows leaves the notification as it is.
        guard isCurrent else { return self.update { _ in } }
        if action == DesktopNotification.mediaKey, let media = shown?.media {
            self.open(media)
            return self.update { _ in }
        }
        BlockingCalls.after(Self.choiceTime) { [weak self] in self?.update { _ in } }
        self.feed.yield(
            .activated(
                identifier: notification.key,
                action: NotificationActionIdentifier(action),
                text: text,
                activationToken: token
            )
        )
    }
}

extension DesktopNotification {
    /// What a server shows of a notification.
    ///
    /// - Parameters:
    ///   - isLocked: whether everyone who passes by can read it.
    ///   - opensMedia: whether an application opens its sound or video. Defaults to `true`.
    init(_ notification: PresentedNotification, isLocked: Bool, opensMedia: Bool = true) {
        let system = notification.systemName.map { Self.line($0, max: 60) }
        guard !isLocked else {
            self.init(notification, hiddenOf: system)
            return
        }
        let content = notification.content
        let title = [content.title, content.subtitle, content.body].first { !$0.isEmpty } ?? ""
        var lines = content.title.isEmpty ? [] : [content.subtitle, content.body].filter { !$0.isEmpty }
        lines = lines.map { Self.lines($0) }
        let actions = notification.category?.actions ?? []
        self.init(
            key: notification.identifier,
            summary: Self.line(title, keepsJoiners: true),
            body: lines.joined(separator: "\n"),
            urgency: Urgency(content.interruptionLevel),
            isSilent: content.sound == nil || notification.isSilenced,
            isResident: !actions.isEmpty || content.interruptionLevel == .critical
        )
        self.soundName = Self.soundName(content.sound)
        self.soundPath = notification.systemName == nil ? notification.soundPath : nil
        self.imagePath = notification.imagePaths.first
        self.desktopEntry = notification.systemName == nil ? notification.desktopEntry : nil
        // Always the last line, so that no text can pretend to be from another system.
        let application = Self.line(notification.applicationName, max: 60)
        if notification.isOfCommand {
            self.source = "from \(system?.quoted ?? "this system")"
        } else if let system {
            self.source = "\(application.quoted) on \(system.quoted)"
        } else {
            // A program of this system cannot get one of these forms with its name.
            let isPlain = !application.lowercased().contains("from") && !application.hasQuotationMarks
            self.source = isPlain ? application : "\(application.quoted) on this system"
        }
        for action in actions {
            // A server has one text field.
            guard action.textInput == nil || self.textField == nil else { continue }
            self.actions.append(
                .init(
                    key: action.identifier.rawValue,
                    label: Self.line(action.title, max: 40, keepsJoiners: true),
                    takesText: action.textInput != nil
                )
            )
            if let input = action.textInput {
                self.textField = .init(
                    placeholder: Self.line(input.placeholder, max: 40, keepsJoiners: true),
                    button: Self.line(input.buttonTitle, max: 40, keepsJoiners: true)
                )
            }
        }
        if let media = notification.media {
            self.iconName = "\(media.kind)-x-generic"
            let label = media.kind == .audio ? "Open sound" : "Open video"
            if opensMedia { self.actions.append(.init(key: Self.mediaKey, label: label)) }
        }
        self.actions.append(.init(key: Action.click, label: "Open"))
        self.fallback = Self.fallback(notification.identifier, actions)
    }

    /// How the user can respond, and open the custom view, with the command; `nil` without buttons.
    private static func fallback(_ key: String, _ actions: [NotificationAction]) -> String? {
        let own = actions.filter { $0.identifier != .openCard && $0.identifier != .snooze }
        let names = own.map { action in
            Self.line(action.identifier.rawValue, max: 40) + (action.textInput == nil ? "" : " --text TEXT")
        }
        var lines: [String] = []
        if !own.isEmpty {
            lines.append(
                "Respond with: remotesystems notifications answer \(key) ACTION (\(names.joined(separator: ", ")))"
            )
        }
        if actions.contains(where: { $0.identifier == .openCard }) {
            lines.append("See more with: remotesystems notifications open \(key)")
        }
        return lines.isEmpty ? nil : lines.joined(separator: "\n")
    }

    /// The name of a sound in the freedesktop sound theme; `nil` if it can be none, for example the name of a file.
    private static func soundName(_ sound: NotificationSound?) -> String? {
        switch sound {
        case nil: nil
        case .standard: "message-new-instant"
        case .named(let name):
            name.utf8.allSatisfy { $0 == UInt8(ascii: "-") || UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 } ? name : nil
        }
    }

    /// A notification on a locked screen: what its category permits, and the system's name.
    private init(_ notification: PresentedNotification, hiddenOf system: String?) {
        let options = notification.category?.options ?? []
        let content = notification.content
        let title = options.contains(.hiddenPreviewsShowTitle) ? Self.line(content.title, keepsJoiners: true) : ""
        var lines: [String] = []
        if options.contains(.hiddenPreviewsShowSubtitle), !content.subtitle.isEmpty {
            lines.append(Self.line(content.subtitle, keepsJoiners: true))
        }
        if let placeholder = notification.category?.hiddenPreviewsBodyPlaceholder {
            lines.append(Self.lines(placeholder))
        }
        let name = notification.isOfCommand ? "this system" : Self.line(notification.applicationName, max: 60)
        let source = "Notification from \(system ?? name)"
        if !title.isEmpty { lines.append("– \(source)") }
        self.init(
            key: notification.identifier,
            summary: title.isEmpty ? source : title,
            body: lines.joined(separator: "\n")
        )
    }
}

extension DesktopNotification.Urgency {
    fileprivate init(_ level: NotificationInterruptionLevel) {
        self =
            switch level {
            case .passive: .low
            case .active, .timeSensitive: .normal
            case .critical: .critical
            }
    }
}
