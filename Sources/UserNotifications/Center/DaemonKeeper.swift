// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import ValueSets

/// Leaves the notifications of an application to the host daemon of this system.
actor DaemonKeeper: NotificationKeeper {
    private let applicationName: String
    private let owner: NotificationKeeperOwner
    private var connection: LongLivedConnection?
    /// Finds the daemon.
    private var find: (@Sendable () async throws -> RemoteSystem)?
    private var isForeground = false

    init(applicationName: String, owner: NotificationKeeperOwner) {
        self.applicationName = applicationName
        self.owner = owner
    }

    /// Finds the daemon, and reports responses from then on.
    func open(_ configuration: RemoteSystemsConfiguration, within limit: Duration) async throws {
        let find: @Sendable () async throws -> RemoteSystem = {
            let found = try await RemoteSystem.findLocal(
                offering: NotificationMessage.service,
                within: limit,
                configuration: configuration
            )
            guard let found else { throw RemoteSystemError.noNotificationDaemon }
            return found
        }
        let system = try await find()
        self.find = find
        let connection = LongLivedConnection(
            to: NotificationMessage.description,
            RemoteSystemConnectionRequest(system: system),
            onRequest: { [weak self] request in
                guard let self else { throw AppServiceFailure("The application has ended.", canRetry: true) }
                return try await self.respond(to: request.message)
            }
        )
        self.connection = connection
        connection.onStateChanged { [weak self] state in
            guard case .connected = state else { return }
            Task { [weak self] in await self?.resume() }
        }
        try connection.start()
        try await self.send(NotificationMessage.resume([], isForeground: self.isForeground))
    }

    /// The daemon sends the responses over this connection from now on.
    private func resume() async {
        _ = try? await self.send(NotificationMessage.resume([], isForeground: self.isForeground))
    }

    @discardableResult
    private func send(_ message: ValueSet) async throws -> ValueSet {
        guard let connection else {
            throw RemoteSystemError(.connectionLost, "The centre is closed.", side: .local)
        }
        do {
            // Every request may be repeated: identifiers replace and remove.
            return try await connection.send(message, retry: .idempotent).get()
        } catch let error as RemoteSystemError {
            guard let code = error.failureCode.flatMap(NotificationMessage.code(ofFailure:)) else { throw error }
            throw NotificationError(code, error.message)
        }
    }

    /// Sends as many requests as the identifiers need: the daemon accepts a limited number of them in one.
    private func send(_ identifiers: [String], _ message: ([String]) -> ValueSet) async throws {
        var rest = identifiers[...]
        while !rest.isEmpty {
            let next = Array(rest.prefix(ReceivedNotifications.maxPerSystem))
            try await self.send(message(next))
            rest = rest.dropFirst(next.count)
        }
    }

    var permission: NotificationPermission {
        get async throws {
            let response = try await self.send(["Type": .string(NotificationMessage.permissions)])
            // What a later version permits less of is not permitted.
            return response["Own"]?.string.flatMap(NotificationPermission.init(rawValue:)) ?? .denied
        }
    }

    // The daemon decides by what its server can show.
    var capabilities: NotificationPresenterCapabilities? { nil }

    func close() async {
        await self.connection?.close()
        self.connection = nil
        self.find = nil
    }

    func setForeground(_ isForeground: Bool) async {
        self.isForeground = isForeground
        await self.resume()
    }

    func add(_ notification: RemoteNotification) async throws {
        var notification = notification
        notification.applicationName = self.applicationName
        // It is on no other system.
        notification.deliveryID = nil
        try await self.send(notification.request.content.attachments)
        guard notification.request.trigger == nil else {
            try await self.send(NotificationMessage.schedule(notification))
            return
        }
        try await self.send(NotificationMessage.deliver(notification))
    }

    /// Sends files over a connection of their own, because the long-lived one opens no streams.
    private func send(_ attachments: [NotificationAttachment]) async throws {
        guard !attachments.isEmpty, let find else { return }
        let connection = AppServiceConnection(to: NotificationMessage.description)
        // A daemon that was restarted has another port.
        let request = RemoteSystemConnectionRequest(system: try await find())
        guard try await connection.open(request) == .success else {
            throw connection.openError
                ?? RemoteSystemError(.unreachable, "The host daemon does not respond.", side: .local)
        }
        do {
            try await connection.sendToDaemon(attachments)
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }

    func post(_ notification: RemoteNotification, to systems: [String]) async throws {
        var notification = notification
        notification.applicationName = notification.applicationName ?? self.applicationName
        try await self.send(notification.request.content.attachments)
        try await self.send(NotificationMessage.post(notification, to: systems))
    }

    var posted: [PostedNotification] {
        get async throws {
            try await NotificationPage.all(["Type": .string(NotificationMessage.posted), "Own": true], self.send)
                .map { set in try PostedNotification(set) }
        }
    }

    func removePosted(_ identifiers: [String]) async throws {
        try await self.send(identifiers) { identifiers in
            var message = NotificationMessage.unpost(identifiers)
            message["Own"] = true
            return message
        }
    }

    func setBadge(_ count: Int) async throws {
        try await self.send(["Type": .string(NotificationMessage.badge), "Count": .integer(Int64(count))])
    }

    var pending: [PendingNotification] {
        get async throws {
            try await NotificationPage.all(["Type": .string(NotificationMessage.pending), "Own": true], self.send)
                .map { set in try ScheduledNotification(set) }
                .sorted { $0.date < $1.date }
                .map { PendingNotification(request: $0.notification.request, date: $0.dateOfDelivery) }
        }
    }

    var delivered: [DeliveredNotification] {
        get async throws {
            try await NotificationPage.all(["Type": .string(NotificationMessage.list), "Own": true], self.send)
                .map { set in
                    let listed = try ListedNotification(set)
                    return DeliveredNotification(
                        request: listed.notification.request,
                        category: listed.notification.category,
                        date: listed.date
                    )
                }
        }
    }

    func removePending(_ identifiers: [String]) async throws {
        try await self.send(identifiers) { NotificationMessage.cancel($0, of: nil) }
    }

    func removeDelivered(_ identifiers: [String]) async throws {
        try await self.send(identifiers) { NotificationMessage.withdraw($0) }
    }

    /// Responds to what the daemon asks.
    private func respond(to message: ValueSet) async throws -> ValueSet {
        guard let center = self.owner.center else {
            throw AppServiceFailure("The application has ended.", canRetry: true)
        }
        do {
            let reader = FieldReader(message)
            switch message["Type"]?.string {
            case NotificationMessage.response:
                let response = try NotificationResponse(try reader.dictionary("Response") ?? [:])
                guard await center.handle(response) else {
                    throw AppServiceFailure("Too many responses wait for the application.", canRetry: true)
                }
                return [:]
            case NotificationMessage.ended:
                await center.ended(try reader.requiredString("Id"))
                return [:]
            case NotificationMessage.update:
                try await center.handle(try ContentUpdate(message))
                return [:]
            case NotificationMessage.present:
                let notification = try RemoteNotification(listed: message)
                let presentation = await center.presentation(of: notification.request)
                return ["Presentation": .integer(Int64(presentation.rawValue))]
            default:
                throw AppServiceFailure("The request is unknown to this version.")
            }
        } catch let error as NotificationError {
            throw AppServiceFailure("\(error)")
        }
    }
}

extension RemoteSystemError {
    /// Nothing on this system receives notifications.
    static var noNotificationDaemon: RemoteSystemError {
        RemoteSystemError(
            .unreachable,
            "This system has no host daemon that receives notifications. Start one with 'remotesystems host run'.",
            side: .local
        )
    }
}
