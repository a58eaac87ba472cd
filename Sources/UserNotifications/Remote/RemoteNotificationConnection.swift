// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystems
internal import Synchronization
internal import ValueSets

/// Sends notifications to one system, and receives what its user responds.
///
/// ```swift
/// let connection = RemoteNotificationConnection(RemoteSystemConnectionRequest(system: system))
/// try await connection.open()
/// let delivery = try await connection.deliver(RemoteNotification(request, category: category))
/// for await response in connection.responses { print(response.actionIdentifier) }
/// ```
///
/// The system is authenticated and has authorised this system before it reads a notification. Notifications stay on it
/// after the connection has ended; a later connection of the same application receives their responses after
/// ``resume(_:)``.
public final class RemoteNotificationConnection: Sendable {
    /// The name of the service that receives notifications, for grants to linked accounts.
    public static let service = NotificationMessage.service

    /// The responses of the user, each once. Ends with the connection. For one reader.
    public let responses: AsyncStream<NotificationResponse>

    /// The deliveries that have ended without a response to this connection. For one reader.
    let ends: AsyncStream<UUID>
    private let request: RemoteSystemConnectionRequest
    private let connection: AppServiceConnection
    private let feed: AsyncStream<NotificationResponse>.Continuation
    private let endFeed: AsyncStream<UUID>.Continuation

    /// Creates a connection, which ``open()`` then opens.
    ///
    /// - Parameters:
    ///   - request: The system to connect to.
    ///   - systemName: The name of the system, for the responses. Defaults to `nil`.
    public init(_ request: RemoteSystemConnectionRequest, systemName: String? = nil) {
        let (responses, feed) = AsyncStream.makeStream(
            of: NotificationResponse.self,
            bufferingPolicy: .bufferingOldest(64)
        )
        let handled = Mutex(HandledResponses())
        let (ends, endFeed) = AsyncStream.makeStream(of: UUID.self, bufferingPolicy: .bufferingNewest(64))
        self.ends = ends
        self.endFeed = endFeed
        self.responses = responses
        self.feed = feed
        self.request = request
        self.connection = AppServiceConnection(
            to: NotificationMessage.description,
            onRequest: { request in
                if request.message["Type"]?.string == NotificationMessage.ended {
                    if let delivery = request.message["Delivery"]?.uuid { endFeed.yield(delivery) }
                    return [:]
                }
                guard request.message["Type"]?.string == NotificationMessage.response,
                    let set = request.message["Response"]?.dictionary
                else { throw AppServiceFailure("The request is unknown to this version.") }
                var response: NotificationResponse
                do throws(NotificationError) {
                    response = try NotificationResponse(set)
                } catch {
                    throw AppServiceFailure("\(error)")
                }
                // The certificate proves the system, not the message.
                response.systemID = "\(request.caller.systemID)"
                response.systemName = systemName
                if !request.caller.isLocal { response.activationToken = nil }
                let isTaken = handled.withLock { [response] handled in
                    guard !handled.contains(response.id) else { return true }
                    guard case .enqueued = feed.yield(response) else { return false }
                    handled.insert(response.id)
                    return true
                }
                guard isTaken else {
                    throw AppServiceFailure("Too many responses wait for the application.", canRetry: true)
                }
                return [:]
            }
        )
    }

    /// Connects to the system.
    ///
    /// - Throws: `RemoteSystemError` if the system is unreachable, or does not permit this one to send notifications;
    ///   `CancellationError`.
    public func open() async throws {
        guard try await self.connection.open(self.request) == .success else {
            throw self.connection.openError
                ?? RemoteSystemError(.unreachable, "The system does not receive notifications.", side: .remote)
        }
        self.connection.onClosed { [feed, endFeed] _ in
            feed.finish()
            endFeed.finish()
        }
    }

    /// Sends a notification. The system shows it in place of an earlier one with the same identifier.
    ///
    /// One that updates the content of an application (``RemoteNotification/isContentAvailable``), and has no text,
    /// takes as long as the application: up to a minute.
    ///
    /// - Parameter notification: The notification, of at most ``NotificationLimits/remotePayloadBytes``.
    /// - Returns: What became of it.
    /// - Throws: ``NotificationError`` if a field is not valid, with nothing sent; `RemoteSystemError` if the system
    ///   refused it or did not respond; `CancellationError`.
    public func deliver(_ notification: RemoteNotification) async throws -> NotificationDelivery {
        try notification.validate()
        return try await self.deliver(notification, onBehalfOf: nil)
    }

    /// Sends a notification, after the files of its attachments.
    ///
    /// - Parameter application: the program of this system for which it is sent, which may have ended; `nil` for this
    ///   one. Only the host daemon can name another one.
    func deliver(
        _ notification: RemoteNotification,
        onBehalfOf application: String?
    ) async throws -> NotificationDelivery {
        var notification = notification
        // The notification is worth more than its attachments.
        let refusals = try await self.connection.send(notification.request.content.attachments)
        let what = "The system did not take over the attachment"
        if application == nil {
            // The program can attach another file. A rate that is exceeded would refuse the notification, too.
            if let refusal = refusals.first(where: { $0.isLocal || $0.error.code == .rateLimited }) {
                throw refusal.error(of: what)
            }
        } else if let refusal = refusals.first(where: \.canRetry) {
            // The daemon sends the whole notification later.
            throw refusal.error(of: what)
        }
        let refused = Set(refusals.map(\.identifier))
        notification.request.content.attachments.removeAll { refused.contains($0.identifier) }
        var message = NotificationMessage.deliver(notification)
        message.put(application, "Application")
        var delivery = try NotificationDelivery(
            try await self.connection.send(message, timeout: Self.time(for: notification)).get()
        )
        for refusal in refusals {
            delivery.add("The attachment '\(refusal.identifier)' was left out. \(refusal.error.message)")
        }
        return delivery
    }

    /// The time for the other system to respond; `nil` for the usual one.
    private static func time(for notification: RemoteNotification) -> Duration? {
        if notification.request.content.hasAlert {
            return notification.isMutable ? NotificationReceiver.extensionTime + .seconds(30) : nil
        }
        // An application starts, handles the update, and the response takes its way.
        guard notification.isContentAvailable else { return nil }
        return NotificationReceiver.startTime + NotificationReceiver.responseTime + .seconds(5)
    }

    /// Removes notifications that this application has sent. Those that are gone are ignored.
    ///
    /// - Parameter identifiers: The identifiers of the requests. At most 64.
    /// - Returns: How many were removed.
    /// - Throws: `RemoteSystemError` if the system did not respond; `CancellationError`.
    @discardableResult
    public func withdraw(_ identifiers: [String]) async throws -> Int {
        try await self.send(NotificationMessage.withdraw(identifiers))["Count"]?.int ?? 0
    }

    /// Receives the responses to notifications that an earlier connection has sent.
    ///
    /// - Parameter identifiers: The identifiers of the requests to ask for. At most 64. Defaults to none: from now on,
    ///   the connection receives all responses of the application that no other connection waits for.
    /// - Returns: The notifications that still wait for the user, and the number of responses that the system now sends
    ///   over this connection.
    /// - Throws: `RemoteSystemError` if the system did not respond; `CancellationError`.
    @discardableResult
    public func resume(_ identifiers: [String] = []) async throws -> NotificationResumption {
        try NotificationResumption(try await self.send(NotificationMessage.resume(identifiers)))
    }

    /// Receives the response to one notification that an earlier connection has sent, and none to a later one with the
    /// same identifier.
    func resume(_ notification: RemoteNotification) async throws -> NotificationResumption {
        let identifiers = [notification.request.identifier]
        let message = NotificationMessage.resume(identifiers, deliveryID: notification.deliveryID)
        return try NotificationResumption(try await self.send(message))
    }

    /// Removes one notification, unless a later one has taken its place.
    func withdraw(_ notification: RemoteNotification) async throws {
        let identifiers = [notification.request.identifier]
        _ = try await self.send(NotificationMessage.withdraw(identifiers, deliveryID: notification.deliveryID))
    }

    /// Closes the connection. The notifications stay.
    public func close() async { await self.connection.close() }

    private func send(_ message: ValueSet) async throws -> ValueSet {
        try await self.connection.send(message).get()
    }
}

/// The identifiers of the last responses. Each is handled once.
struct HandledResponses {
    private static let max = 1024

    private var known: Set<String> = []
    private var order: [String] = []

    func contains(_ id: String) -> Bool { self.known.contains(id) }

    mutating func insert(_ id: String) {
        guard self.known.insert(id).inserted else { return }
        self.order.append(id)
        if self.order.count > Self.max { self.known.remove(self.order.removeFirst()) }
    }
}
