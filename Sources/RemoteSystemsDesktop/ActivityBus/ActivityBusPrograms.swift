// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import UserActivities
internal import ValueSets

/// The programs that use hand-off over the bus. Each is an application of this system.
actor ActivityBusPrograms: BusPrograms {
    /// A program on the bus.
    private struct Program {
        var application: String
        var host: UserActivityHost
        var running: Task<Void, Never>
        /// The activity that it offers.
        var current: UserActivity?
        /// The last delegates, which activities do not keep alive: an activity may be returned after the program has
        /// offered another one.
        var origins: [Origin] = []
    }

    /// The maximum number of programs. Each has a listening port.
    static let max = 32
    private static let maxOrigins = 8
    /// The time that a program has to continue an activity.
    private static let continueTimeout = Duration.seconds(30)
    /// The time to find the offers of the other systems when the first program asks for them.
    private static let enumerationTime = Duration.seconds(3)
    /// The minimum time between two signals. Another system could change its title at any rate.
    private static let signalInterval = Duration.milliseconds(500)

    private let configuration: RemoteSystemsConfiguration
    private let registry: ApplicationRegistry
    private let server: BusObjectServer
    private let webpages: WebpageResolver?
    private let presenter: SessionPresenter?
    private var programs: [String: Program] = [:]
    /// The programs that are being registered.
    private var registering: Set<String> = []
    /// The programs that have asked for the offers of other systems.
    private var listeners: Set<String> = []
    private var watching: (watcher: UserActivityWatcher, following: Task<Void, Never>)?

    init(
        _ configuration: RemoteSystemsConfiguration,
        _ registry: ApplicationRegistry,
        _ server: BusObjectServer,
        _ webpages: WebpageResolver?,
        _ presenter: SessionPresenter?
    ) {
        self.configuration = configuration
        self.registry = registry
        self.server = server
        self.webpages = webpages
        self.presenter = presenter
    }

    func perform(_ call: ActivityBusCall, _ sender: String) async throws -> [MessageBus.Argument] {
        switch call {
        case .register(let application, let types):
            try await self.register(application, types, sender)
            return []
        case .offer(let type, let title, let content, let options):
            return [.string(try await self.offer(type, title, content, options, sender))]
        case .update(let id, let title, let content):
            let activity = try self.activity(id, of: sender)
            // Checked before other systems see it.
            let changed = UserActivity(type: activity.type, title: title)
            changed.userInfo = content
            changed.webpageURL = activity.webpageURL
            changed.payloadVersion = activity.payloadVersion
            try changed.checkContent()
            activity.title = title
            activity.userInfo = content
            return []
        case .withdraw(let id):
            try self.activity(id, of: sender).invalidate()
            self.programs[sender]?.current = nil
            return []
        case .list:
            return [.dictionaries(try await self.watcher(for: sender).offers.map(Self.description))]
        case .continue(let id, let system, let origin, let application):
            let watcher = try await self.watcher(for: sender)
            guard let offer = try Self.find(id, of: system, by: origin, in: watcher.offers) else {
                throw ContinuationError(.activityUnknown, "No other system offers this activity.", side: .local)
            }
            let number = self.presenter?.beginContinuation(offer.title ?? offer.activityType)
            defer { if let number { self.presenter?.endContinuation(number) } }
            let continuation = OfferContinuation(watcher, self.configuration, self.webpages) { await self.host(of: $0) }
            let continued = try await continuation.continue(offer, in: application.isEmpty ? nil : application)
            return [.string(continued.id ?? "")]
        }
    }

    // MARK: Programs

    func isRegistered(_ sender: String) -> Bool { self.programs[sender] != nil }

    private func register(_ application: String, _ types: [String], _ sender: String) async throws {
        guard self.programs[sender] == nil, self.registering.insert(sender).inserted else {
            throw BusCallError.alreadyRegistered
        }
        defer { self.registering.remove(sender) }
        guard self.programs.count + self.registering.count <= Self.max else {
            throw BusCallError(
                code: "localResources",
                message: "\(Self.max) programs use hand-off over the bus. Another one has to end first."
            )
        }
        // The publishers of these applications are not compared.
        guard !BuiltInApplication.isBuiltIn(application) else { throw BusCallError.taken(application) }
        let process = try await self.server.process(of: sender, registeringAs: application)
        // Before the host runs, which registers under the application's id and is compared with this program. Taken
        // by one program at a time: otherwise the host of one could be compared with the process of another.
        guard self.registry.represent(application, process) else {
            throw BusCallError.taken(application)
        }
        var isRegistered = false
        defer { if !isRegistered { self.registry.endRepresenting(application) } }
        var configuration = self.configuration
        configuration.applicationID = application
        var options = UserActivityHost.Options()
        options.continuesBeforeConfirmation = true
        let host = UserActivityHost(
            configuration,
            activityTypes: types,
            options: options,
            handler: .closure { [server] activity in try await Self.continue(activity, in: sender, server) }
        )
        let (results, ended) = AsyncStream.makeStream(of: (any Error)?.self, bufferingPolicy: .bufferingOldest(1))
        let running = Task {
            do {
                try await host.run()
                ended.yield(CancellationError())
            } catch {
                ended.yield(error)
            }
        }
        let starting = Task {
            if (try? await host.host.port) != nil { ended.yield(nil) }
        }
        for await failure in results {
            starting.cancel()
            if let failure {
                running.cancel()
                throw failure
            }
            break
        }
        self.programs[sender] = Program(application: application, host: host, running: running)
        isRegistered = true
    }

    /// The host of an application that a program on the bus has registered.
    private func host(of application: String) -> UserActivityHost? {
        self.programs.values.first { $0.application == application }?.host
    }

    /// A program has left the bus, and so ends its offer.
    func left(_ sender: String) async {
        if let program = self.programs.removeValue(forKey: sender) {
            program.running.cancel()
            self.registry.endRepresenting(program.application)
        }
        self.listeners.remove(sender)
        guard self.listeners.isEmpty, let watching = self.watching else { return }
        self.watching = nil
        watching.following.cancel()
        await watching.watcher.stop()
    }

    func leaveAll() async {
        for sender in self.listeners.union(self.programs.keys) { await self.left(sender) }
    }

    // MARK: Offering

    private func offer(
        _ type: String,
        _ title: String,
        _ content: ValueSet,
        _ options: ValueSet,
        _ sender: String
    ) async throws -> String {
        guard let program = self.programs[sender] else { throw BusCallError.notRegistered }
        let activity = UserActivity(type: type, title: title.isEmpty ? nil : title)
        let id = activity.id.uuidString.lowercased()
        activity.userInfo = content
        for (key, value) in options {
            switch (key, value) {
            case ("webpage", .string(let text)):
                guard let address = URL(string: text) else {
                    throw BusCallError.invalid("The option 'webpage' is no address.")
                }
                activity.webpageURL = address
            case ("seconds", let value):
                guard let seconds = value.int, (1...86_400).contains(seconds) else {
                    throw BusCallError.invalid("The option 'seconds' takes 1 to 86400.")
                }
                activity.expirationDate = Date(timeIntervalSinceNow: Double(seconds))
            case ("version", let value):
                guard let version = value.int else {
                    throw BusCallError.invalid("The option 'version' takes a whole number.")
                }
                activity.payloadVersion = version
            default: throw BusCallError.invalid("The option '\(key)' is unknown, or its value has another type.")
            }
        }
        // Content that no other system could receive is refused where the program still learns it.
        try activity.checkContent()
        let origin = Origin(id: id, program: sender, server: self.server)
        activity.delegate = origin
        try await activity.becomeCurrent(at: program.host)
        self.programs[sender]?.current = activity
        // Read again: another call of the program may have added one meanwhile.
        let earlier = self.programs[sender]?.origins ?? []
        self.programs[sender]?.origins = earlier.suffix(Self.maxOrigins - 1) + [origin]
        return id
    }

    private func activity(_ id: String, of sender: String) throws(BusCallError) -> UserActivity {
        guard let program = self.programs[sender] else { throw .notRegistered }
        guard let activity = program.current, activity.isCurrent,
            activity.id.uuidString.lowercased() == id.lowercased()
        else {
            throw BusCallError(code: "activityUnknown", message: "This program does not offer the activity now.")
        }
        return activity
    }

    /// Notifies a program that its activity was continued, or returned.
    private final class Origin: UserActivityDelegate {
        let id: String
        let program: String
        let server: BusObjectServer

        init(id: String, program: String, server: BusObjectServer) {
            self.id = id
            self.program = program
            self.server = server
        }

        func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
            self.emit("Continued", receiver)
        }

        func userActivityWasReturned(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
            self.emit("Returned", receiver)
        }

        private func emit(_ signal: String, _ receiver: UserActivityReceiver) {
            self.server.emit(
                signal,
                to: self.program,
                [.string(self.id), .string("\(receiver.systemID)"), .string(receiver.claimedApplicationID)]
            )
        }
    }

    // MARK: Continuing

    private static func `continue`(
        _ activity: UserActivity,
        in program: String,
        _ server: BusObjectServer
    ) async throws {
        do throws(ValueSetError) {
            try DBusForm.validate(activity.userInfo)
        } catch {
            throw ContinuationError(.payloadInvalid, "D-Bus cannot represent the content: \(error)", side: .local)
        }
        var details: ValueSet = [:]
        if let address = activity.webpageURL { details["webpage"] = .string(address.absoluteString) }
        if let version = activity.payloadVersion { details["version"] = .integer(Int64(version)) }
        let isContinued: Bool
        do throws(MessageBus.Failure) {
            let call = MessageBus.Call(
                destination: program,
                path: ActivityBusInterface.handlerPath,
                interface: ActivityBusInterface.handler,
                method: "Continue",
                arguments: [
                    .string(activity.type), .string(activity.title ?? ""), .dictionary(activity.userInfo),
                    .dictionary(details),
                ]
            )
            isContinued = try await server.call(call, within: Self.continueTimeout) { response in
                unsafe BusSignal.bool(of: response.pointer) ?? false
            }
        } catch {
            throw ContinuationError(
                .handlerFailed,
                "The program on the bus did not continue the activity: \(error.message).",
                side: .local
            )
        }
        guard isContinued else {
            throw ContinuationError(
                .handlerFailed,
                "The program on the bus could not continue the activity.",
                side: .local
            )
        }
    }

    /// The watcher, which runs until the last program that has asked for it leaves the bus.
    private func watcher(for sender: String) async throws -> UserActivityWatcher {
        self.listeners.insert(sender)
        let watcher = try await self.startedWatcher()
        await watcher.enumerate(within: Self.enumerationTime)
        return watcher
    }

    private func startedWatcher() async throws -> UserActivityWatcher {
        if let watching = self.watching { return watching.watcher }
        let watcher = UserActivityWatcher(self.configuration, filters: .withLinkedAccounts)
        let changes = watcher.changes
        let following = Task { [server] in
            for await _ in changes {
                server.emit("OffersChanged")
                guard (try? await Task.sleep(for: Self.signalInterval)) != nil else { return }
            }
        }
        self.watching = (watcher, following)
        do {
            try await watcher.start()
        } catch {
            self.watching = nil
            following.cancel()
            throw error
        }
        return watcher
    }

    /// Returns the offer that a program names; `nil` if there is none.
    static func find(
        _ id: String,
        of system: String?,
        by application: String?,
        in offers: [UserActivityOffer]
    ) throws(BusCallError) -> UserActivityOffer? {
        let systemID = system.flatMap { SystemID($0) }
        guard (systemID == nil) == (system == nil) else {
            throw .invalid("The system is not named by its id, as 'List' states it.")
        }
        do throws(AmbiguousOffer) {
            return try offers.offer(withID: id, of: systemID, by: application)
        } catch {
            throw .invalid(
                "\(error.offers)\n\(AmbiguousOffer.reason) Name the system and the application of the one that you "
                    + "mean with 'ContinueOffer'."
            )
        }
    }

    private static func description(of offer: UserActivityOffer) -> ValueSet {
        var description: ValueSet = [
            "id": .string(offer.shownID),
            "type": .string(offer.activityType),
            "application": .string(offer.applicationID),
            "system": .string("\(offer.system.id)"),
            "system_name": .string(offer.system.displayName),
            "has_webpage": .bool(offer.hasWebpage),
        ]
        if let title = offer.title { description["title"] = .string(title) }
        if let version = offer.payloadVersion { description["version"] = .integer(Int64(version)) }
        if let account = offer.system.accountName { description["account_name"] = .string(account) }
        return description
    }
}
