// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import UserNotifications
internal import ValueSets

/// The programs that notify the user over the bus. Each is an application of this system.
actor NotificationBusPrograms: BusPrograms {
    /// A program on the bus.
    private struct Program {
        var application: String
        var center: UserNotificationCenter
        /// Whether it is registered only for its questions.
        var isAsking: Bool
        /// The questions that wait for the user, by the identifiers of their notifications.
        var questions: [String: AsyncStream<NotificationResponse>.Continuation] = [:]
        /// The last notification that is being added. Each sets its category before.
        var adding: Task<Void, Never>?
    }

    /// The maximum number of programs. Each has a connection to the host daemon.
    static let max = 32

    private let configuration: RemoteSystemsConfiguration
    private let server: BusObjectServer
    private var programs: [String: Program] = [:]
    /// The programs that are being registered.
    private var registering: [String: (application: String, task: Task<Void, any Error>)] = [:]
    /// The responses that programs were sent and have not acknowledged, by program and response. A program may be sent
    /// one before it is registered.
    private var unacknowledged: [String: [String: AsyncStream<Void>.Continuation]] = [:]

    init(_ configuration: RemoteSystemsConfiguration, _ server: BusObjectServer) {
        self.configuration = configuration
        self.server = server
    }

    func perform(_ call: NotificationBusCall, _ sender: String) async throws -> [MessageBus.Argument] {
        switch call {
        case .register(let application, let name):
            try await self.register(application, name, sender)
            return []
        case .add(let request, let category):
            try await self.add(request, category, of: sender)
            return []
        case .remove(let identifiers):
            let program = try self.program(sender)
            try await program.center.removePendingNotifications(withIdentifiers: identifiers)
            try await program.center.removeDeliveredNotifications(withIdentifiers: identifiers)
            for identifier in identifiers { program.questions[identifier]?.finish() }
            return []
        case .list:
            let delivered = try await self.program(sender).center.deliveredNotifications
            return [.dictionaries(delivered.grouped.map(Self.description))]
        case .acknowledge(let response):
            self.unacknowledged[sender]?.removeValue(forKey: response)?.yield()
            return []
        case .ask(let application, let request, let category):
            let response = try await self.ask(application, request, category, sender)
            return [.string(response.actionIdentifier.rawValue), .string(response.userText ?? "")]
        }
    }

    func isRegistered(_ sender: String) -> Bool { self.programs[sender] != nil }

    private func program(_ sender: String) throws(BusCallError) -> Program {
        guard let program = self.programs[sender] else { throw .notRegistered }
        return program
    }

    // MARK: Programs

    private func register(
        _ application: String,
        _ name: String,
        _ sender: String,
        isAsking: Bool = false
    ) async throws {
        guard self.programs[sender] == nil, self.registering[sender] == nil else {
            throw BusCallError.alreadyRegistered
        }
        // Responses of the user go to one program.
        guard !self.programs.values.contains(where: { $0.application == application }),
            !self.registering.values.contains(where: { $0.application == application })
        else { throw BusCallError.taken(application) }
        guard self.programs.count + self.registering.count < Self.max else {
            throw BusCallError(
                code: "localResources",
                message: "\(Self.max) programs use notifications over the bus. Another one has to end first."
            )
        }
        let name = name.isEmpty ? application : name
        try Self.check(name)
        let task = Task { try await self.connect(application, name, sender, isAsking: isAsking) }
        self.registering[sender] = (application, task)
        defer { self.registering[sender] = nil }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Each notification has the name. With a name that none may have, all of them would be refused.
    private static func check(_ name: String) throws(BusCallError) {
        guard name.utf8.count <= NotificationLimits.identifierBytes else {
            throw .invalid(
                "The name has \(name.utf8.count) bytes; the maximum is \(NotificationLimits.identifierBytes)."
            )
        }
        guard !name.hasControlCharacters else { throw .invalid("The name has control characters.") }
    }

    private func connect(_ application: String, _ name: String, _ sender: String, isAsking: Bool) async throws {
        _ = try await self.server.process(of: sender, registeringAs: application)
        var configuration = self.configuration
        configuration.applicationID = application
        // A response that the program did not receive is not waited for, so that it remains with the daemon.
        configuration.transport.drainTimeout = .milliseconds(100)
        let center = try await UserNotificationCenter(
            connectingToDaemonOf: configuration,
            applicationName: name
        ) { [weak self] response in
            await self?.responded(response, to: sender)
        }
        await center.setEndHandler { [weak self] identifier in await self?.ended(identifier, of: sender) }
        // Nothing would end it: its leaving was reported before.
        guard !self.server.hasLeft(sender), !Task.isCancelled else {
            await center.close()
            throw BusCallError(code: "failed", message: "The program has left the bus.")
        }
        self.programs[sender] = Program(application: application, center: center, isAsking: isAsking)
    }

    /// A program has left the bus. Its notifications stay, its questions do not.
    func left(_ sender: String) {
        for response in (self.unacknowledged.removeValue(forKey: sender) ?? [:]).values { response.finish() }
        guard let program = self.programs.removeValue(forKey: sender) else { return }
        // Other programs do not wait for that.
        Task { await Self.end(program) }
    }

    func leaveAll() async {
        let programs = self.programs.values
        (self.programs, self.unacknowledged) = ([:], [:])
        await withDiscardingTaskGroup { group in
            for program in programs { group.addTask { await Self.end(program) } }
        }
    }

    private static func end(_ program: Program) async {
        for question in program.questions.values { question.finish() }
        try? await program.center.removeDeliveredNotifications(withIdentifiers: Array(program.questions.keys))
        await program.center.close()
    }

    // MARK: Notifications

    private func add(
        _ request: NotificationRequest,
        _ category: NotificationCategory?,
        of sender: String
    ) async throws {
        let program = try self.program(sender)
        let adding = Task { [center = program.center, before = program.adding] in
            await before?.value
            if let category { try await center.setNotificationCategories([category]) }
            try await center.add(request)
        }
        self.programs[sender]?.adding = Task { _ = await adding.result }
        try await adding.value
    }

    private static func description(of notification: DeliveredNotification) -> ValueSet {
        let content = notification.request.content
        var description: ValueSet = [
            "id": .string(notification.request.identifier),
            "title": .string(content.title),
            "body": .string(content.body),
            "date": .integer(Int64(notification.date.timeIntervalSince1970)),
        ]
        if !content.subtitle.isEmpty { description["subtitle"] = .string(content.subtitle) }
        description["thread"] = content.threadIdentifier.map { .string($0) }
        let actions = notification.category?.actions ?? []
        if !actions.isEmpty { description["actions"] = .array(actions.map { .string($0.identifier.rawValue) }) }
        return description
    }

    // MARK: Responses

    /// Adds a notification and waits until the user responds. A program that is not registered is so meanwhile.
    private func ask(
        _ application: String,
        _ request: NotificationRequest,
        _ category: NotificationCategory,
        _ sender: String
    ) async throws -> NotificationResponse {
        if let task = self.registering[sender]?.task {
            try await task.value
        } else if self.programs[sender] == nil {
            try await self.register(application, "", sender, isAsking: true)
        }
        let program = try self.program(sender)
        guard application.isEmpty || program.application == application else {
            throw BusCallError(code: "misuse", message: "This program is registered as \(program.application).")
        }
        let (responses, feed) = AsyncStream.makeStream(of: NotificationResponse.self)
        self.programs[sender]?.questions[request.identifier] = feed
        let result: Result<NotificationResponse, any Error>
        do {
            try await self.add(request, category, of: sender)
            let watch = Task { await Self.finish(feed, whenGone: request.identifier, program.center) }
            defer { watch.cancel() }
            var response: NotificationResponse?
            for await first in responses {
                response = first
                break
            }
            guard let response else { throw await Self.reason(ofEndIn: program.center) }
            result = .success(response)
        } catch {
            result = .failure(error)
        }
        self.programs[sender]?.questions[request.identifier] = nil
        if case .failure = result {
            // Also when this task is cancelled.
            await Task { try? await program.center.removeDeliveredNotifications(withIdentifiers: [request.identifier]) }
                .value
        }
        if let program = self.programs[sender], program.isAsking, program.questions.isEmpty { self.left(sender) }
        return try result.get()
    }

    /// A notification has ended without a response.
    private func ended(_ identifier: String, of sender: String) {
        self.programs[sender]?.questions[identifier]?.finish()
    }

    /// Why a question has ended without a response.
    private static func reason(ofEndIn center: UserNotificationCenter) async -> BusCallError {
        if (try? await center.permission) == .denied {
            return BusCallError(code: "notAuthorized", message: "The user does not permit these notifications.")
        }
        return BusCallError(code: "failed", message: "The question was removed, or the host daemon stops.")
    }

    /// Ends a question whose notification is gone without a response, in case that was not reported.
    private static func finish(
        _ question: AsyncStream<NotificationResponse>.Continuation,
        whenGone identifier: String,
        _ center: UserNotificationCenter
    ) async {
        // A response may be on its way: it is gone when it is gone twice.
        var absences = 0
        while absences < 2, (try? await Task.sleep(for: .seconds(30))) != nil {
            guard let present = try? await center.deliveredNotifications else { continue }
            absences = present.contains { $0.request.identifier == identifier } ? 0 : absences + 1
        }
        question.finish()
    }

    /// The user has responded. Returns when the program has acknowledged that. If it leaves the bus before, its centre
    /// ends first, and the response waits for the application.
    private func responded(_ response: NotificationResponse, to sender: String) async {
        if let question = self.programs[sender]?.questions[response.requestIdentifier] {
            question.yield(response)
            question.finish()
            return
        }
        // No caller waits for it any more, and none will.
        guard !response.requestIdentifier.hasPrefix(NotificationBusCall.questionPrefix) else { return }
        let (acknowledgements, feed) = AsyncStream.makeStream(of: Void.self)
        defer { self.unacknowledged[sender]?[response.id] = nil }
        self.unacknowledged[sender, default: [:]][response.id] = feed
        if let token = response.activationToken {
            self.server.emit(
                NotificationBusInterface.activationToken,
                to: sender,
                [.string(response.id), .string(token)]
            )
        }
        self.server.emit(
            NotificationBusInterface.responded,
            to: sender,
            [
                .string(response.requestIdentifier), .string(response.actionIdentifier.rawValue),
                .string(response.userText ?? ""), .string(response.id),
            ]
        )
        for await _ in acknowledgements { return }
        // Until the centre ends, or its time for a response is over.
        try? await Task.sleep(for: .seconds(60))
    }
}
