// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Logging
import RemoteSystems

/// Finds the system that a command line names by its name, the beginning of its id, or its address.
struct SystemFinder: Sendable {
    /// The ways to name a system, for the help of a subcommand.
    static let help = """
        its name, at least the first four characters of its id, or its address (with :PORT unless the port is \
        \(RemoteSystemHost.defaultPort))
        """

    /// The command-line argument; nil for any system.
    let text: String?
    let wait: Duration
    let configuration: RemoteSystemsConfiguration
    /// Whether to look for systems of other accounts that accept callers of other accounts.
    let anyoneNearby: Bool
    /// Whether the name may mean another system than before.
    let acceptsName: Bool
    /// The program that the system needs.
    let program: Program
    /// What can be done while the system is away, as a sentence; `nil` for nothing.
    let whenAway: String?

    /// A program that offers a service, as the errors of a search name it.
    enum Program: String, Sendable {
        case serve = "remotesystems serve"
        case hostDaemon = "remotesystems host run"
    }

    init(
        _ text: String?,
        wait: Duration,
        _ configuration: RemoteSystemsConfiguration,
        anyoneNearby: Bool = false,
        acceptsName: Bool = false,
        program: Program = .serve,
        whenAway: String? = nil
    ) {
        self.text = text
        self.wait = wait
        self.configuration = configuration
        self.anyoneNearby = anyoneNearby
        self.acceptsName = acceptsName
        self.program = program
        self.whenAway = whenAway
    }

    /// Returns the system that is meant, as soon as `suits` accepts it.
    ///
    /// A system named by its address is connected to directly. Otherwise a watcher looks for it. A name that was used
    /// before means the same system as then; any other must be the name of one system only (``NameSearch``).
    ///
    /// - Parameters:
    ///   - whole: Whether to return the system only when the enumeration is complete, with everything that is known
    ///     about it then.
    ///   - suits: Whether a system has what is needed. Called for every update: applications become known one by one.
    ///   - unsuitable: The error for the system if `suits` rejects it.
    /// - Throws: ``Failure`` if no system is found, or if it is uncertain which one is meant.
    func find(
        whole: Bool = false,
        where suits: @Sendable (RemoteSystem) -> Bool = { _ in true },
        unsuitable: @Sendable (RemoteSystem) -> Failure
    ) async throws -> RemoteSystem {
        if let system = try await self.addressed() {
            guard suits(system) else { throw unsuitable(system) }
            return system
        }
        guard let text else { return try await self.findAny(where: suits, unsuitable: unsuitable) }
        var search = try self.search(for: text)
        var systems: [SystemID: RemoteSystem] = [:]
        var isEnumerated = false
        let (found, reason) = try await self.watch { event -> NameSearch.Decision? in
            switch event {
            case .added(let system), .updated(let system):
                systems[system.id] = system
                search.saw(system.id, named: system.displayName)
            case .removed(let system):
                systems[system.id] = nil
            case .enumerationCompleted:
                isEnumerated = true
                search.enumerationCompleted()
            case .error:
                return nil
            }
            switch search.decision {
            case .system(let id):
                guard isEnumerated || !whole, let system = systems[id], suits(system) else { return nil }
                return .system(id)
            case .undecided: return nil
            case .ambiguous, .changed: return search.decision
            }
        }
        guard let id = try self.meant(found ?? search.finalDecision, search), let system = systems[id] else {
            throw self.notFound(reason, search)
        }
        guard suits(system) else { throw unsuitable(system) }
        try self.remember(id, search)
        return system
    }

    /// Returns the system that is meant, with everything that is known about it when the enumeration is complete.
    ///
    /// - Throws: ``Failure`` if no system is found, or if it is uncertain which one is meant.
    func findWhole() async throws -> RemoteSystem {
        try await self.find(whole: true) { Failure("refused", "\($0.displayName) cannot be used.") }
    }

    /// Returns the first system that `suits` accepts.
    private func findAny(
        where suits: @Sendable (RemoteSystem) -> Bool,
        unsuitable: @Sendable (RemoteSystem) -> Failure
    ) async throws -> RemoteSystem {
        var others: [SystemID: RemoteSystem] = [:]
        let (found, reason) = try await self.watch { event -> RemoteSystem? in
            switch event {
            case .added(let system), .updated(let system):
                if suits(system) { return system }
                others[system.id] = system
            case .removed(let system):
                others[system.id] = nil
            case .enumerationCompleted, .error:
                break
            }
            return nil
        }
        if let found { return found }
        // The system with the lowest id, so that the error does not depend on the order of events.
        throw others.values.min { $0.id < $1.id }.map(unsuitable) ?? self.notFound(reason, nil)
    }

    /// Returns the system of the account that is meant, also while it is away.
    ///
    /// - Returns: `nil` if the account has no such system, or if its name is not known here.
    /// - Throws: ``Failure`` if it is uncertain which system is meant.
    func findKnown() throws -> AccountSystem? {
        guard let text else { return nil }
        let systems = try self.account.systems().filter { !$0.isLocal && !$0.isRevoked }
        var search = try self.search(for: text)
        for system in systems { search.saw(system.id, named: system.name ?? "") }
        search.enumerationCompleted()
        guard let id = try self.meant(search.finalDecision, search),
            let system = systems.first(where: { $0.id == id })
        else { return nil }
        try self.remember(id, search)
        return system
    }

    // MARK: Names

    private var account: RemoteSystemsAccount { RemoteSystemsAccount(self.configuration) }

    private func search(for text: String) throws -> NameSearch {
        guard SystemID(text) == nil else { return NameSearch(text, remembered: nil) }
        let remembered = self.acceptsName ? nil : try self.account.system(named: text, isNearby: self.anyoneNearby)
        let known = self.anyoneNearby ? [] : try self.account.systems().filter { !$0.isRevoked }.map(\.id)
        return NameSearch(text, remembered: remembered, known: known)
    }

    /// The system that a decision names; `nil` for none.
    ///
    /// - Throws: ``Failure`` if it is uncertain which one is meant.
    private func meant(_ decision: NameSearch.Decision, _ search: NameSearch) throws -> SystemID? {
        switch decision {
        case .undecided: nil
        case .system(let id): id
        case .ambiguous(let ids): throw Failure.ambiguous(ids, among: search)
        case .changed(let id, let others): throw self.changed(from: id, to: others, search)
        }
    }

    /// Remembers which system the name means, if the system was named by its name.
    private func remember(_ system: SystemID, _ search: NameSearch) throws {
        guard search.isNamed(system) else { return }
        let meant: SystemID
        do {
            meant = try self.account.remember(
                system,
                named: search.text,
                isNearby: self.anyoneNearby,
                replaces: self.acceptsName
            )
        } catch {
            // The account's directory may be read-only. A user who accepts a changed name must know that it failed.
            guard !self.acceptsName, search.remembered == nil else { throw error }
            self.configuration.logger.error(
                "The system that the name means was not remembered",
                metadata: ["reason": "\(error.message)"]
            )
            return
        }
        // Another process may have used the name for another system meanwhile.
        guard meant == system else { throw self.changed(from: meant, to: [system], search) }
    }

    private func changed(from id: SystemID, to others: [SystemID], _ search: NameSearch) -> Failure {
        let isRevoked = (try? self.account.systems())?.contains { $0.id == id && $0.isRevoked } ?? false
        return Failure.changed(from: id, isRevoked: isRevoked, to: others, search)
    }

    private func addressed() async throws -> RemoteSystem? {
        guard let address = self.text.flatMap(SystemAddress.init) else { return nil }
        guard !self.anyoneNearby else {
            throw Failure(
                "misuse",
                "A system of another account must be named by its id or its name: an address does not prove which "
                    + "system responds."
            )
        }
        return try await RemoteSystem.find(
            host: address.host,
            port: address.port ?? RemoteSystemHost.defaultPort,
            configuration: self.configuration
        )
    }

    /// Watches until `pick` returns a value for an event, or until ``wait`` is over.
    ///
    /// - Returns: The value, or nil and the most likely reason if it is known.
    private func watch<Picked>(
        _ pick: (RemoteSystemEvent) -> Picked?
    ) async throws -> (picked: Picked?, reason: DiagnosisFinding?) {
        var options = RemoteSystemWatcher.Options()
        options.enumerationTime = min(options.enumerationTime, self.wait)
        let filters: [RemoteSystemFilter] = self.anyoneNearby ? [.authorizationKind(.anonymous)] : []
        let watcher = RemoteSystemWatcher(self.configuration, filters: filters, options: options)
        let events = watcher.events
        try await watcher.start()
        let stop = Task {
            try await Task.sleep(for: self.wait)
            let reason = await RemoteSystemsDiagnosis.likelyReason(whyUnlisted: watcher)
            await watcher.stop()
            return reason
        }
        defer { stop.cancel() }
        for await event in events {
            guard let picked = pick(event) else { continue }
            // The stopped watcher has stored that this machine met the system.
            await watcher.stop()
            return (picked, nil)
        }
        try Task.checkCancellation()
        return (nil, try await stop.value)
    }
}

extension SystemFinder {
    private func advice(for system: RemoteSystem) -> String {
        switch self.program {
        case .serve:
            " Start the program that offers it on that system ('remotesystems serve' for pings), or name another "
                + "service."
        case .hostDaemon where system.application(RemoteSystemHost.machineApplicationID) != nil:
            " The host daemon of that system runs without it: switch on its setting for it there, such as "
                + "'notifications', and restart it."
        case .hostDaemon: " Start the host daemon on that system ('\(self.program.rawValue)')."
        }
    }

    /// Returns the system that is meant, as soon as an application on it offers the service.
    func find(offering service: String, by application: String? = nil) async throws -> RemoteSystem {
        try await self.find { system in
            system.applications.contains { candidate in
                (application.map { $0 == candidate.id } ?? true)
                    && candidate.services.contains { $0.name == service }
            }
        } unsuitable: { system in
            let services = Set(system.applications.flatMap(\.services).map(\.name)).sorted()
            let by = application.map { " by an application \($0)" } ?? ""
            let applications = system.applications.map(\.id)
            var question = SimilarNames.question(for: service, among: services)
            if let application, !applications.contains(application) {
                question +=
                    " It has no application \(application). Its applications: \(NameList.text(applications))."
                    + SimilarNames.question(for: application, among: applications)
            }
            var failure = Failure(
                "refused",
                "\(system.displayName) is reachable, but offers no service \(service)\(by)."
                    + (services.isEmpty ? "" : " Its services: \(NameList.text(services)).")
                    + question + self.advice(for: system),
                canRetry: true
            )
            failure.side = .remote
            return failure
        }
    }
}
