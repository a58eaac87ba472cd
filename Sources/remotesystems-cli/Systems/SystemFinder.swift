// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
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

    init(_ text: String?, wait: Duration, _ configuration: RemoteSystemsConfiguration, anyoneNearby: Bool = false) {
        self.text = text
        self.wait = wait
        self.configuration = configuration
        self.anyoneNearby = anyoneNearby
    }

    /// Returns the first matching system that `suits` accepts.
    ///
    /// A system named by its address is connected to directly. Otherwise a watcher looks for it.
    ///
    /// - Parameters:
    ///   - suits: Whether a system has what is needed. Called for every update: applications become known one by one.
    ///   - unsuitable: The error for a matching system that `suits` rejects.
    /// - Throws: ``Failure`` if no matching system is found.
    func find(
        where suits: @Sendable (RemoteSystem) -> Bool = { _ in true },
        unsuitable: @Sendable (RemoteSystem) -> Failure
    ) async throws -> RemoteSystem {
        if let system = try await self.addressed() {
            guard suits(system) else { throw unsuitable(system) }
            return system
        }
        var others: [SystemID: RemoteSystem] = [:]
        var otherNames: [SystemID: String] = [:]
        let (found, reason) = try await self.watch { event -> RemoteSystem? in
            switch event {
            case .added(let system), .updated(let system):
                guard self.names(system) else {
                    otherNames[system.id] = system.displayName
                    return nil
                }
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
        throw others.values.min { $0.id < $1.id }.map(unsuitable) ?? self.notFound(reason, others: otherNames.values)
    }

    /// Returns the matching system, with everything that is known about it when the enumeration is complete.
    ///
    /// - Throws: ``Failure`` if no system or more than one matches.
    func findWhole() async throws -> RemoteSystem {
        if let system = try await self.addressed() { return system }
        var named: [SystemID: RemoteSystem] = [:]
        var otherNames: [SystemID: String] = [:]
        let (whole, reason) = try await self.watch { event -> [RemoteSystem]? in
            switch event {
            case .added(let system), .updated(let system):
                if self.names(system) { named[system.id] = system } else { otherNames[system.id] = system.displayName }
                return nil
            case .removed(let system):
                named[system.id] = nil
                return nil
            case .enumerationCompleted:
                return named.isEmpty ? nil : Array(named.values)
            case .error:
                return nil
            }
        }
        let systems = (whole ?? Array(named.values)).sorted { $0.id < $1.id }
        guard let system = systems.first else { throw self.notFound(reason, others: otherNames.values) }
        guard systems.count == 1 || self.text == nil else { throw self.ambiguous(systems) }
        return system
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
            if let picked = pick(event) { return (picked, nil) }
        }
        try Task.checkCancellation()
        return (nil, try await stop.value)
    }

    private func names(_ system: RemoteSystem) -> Bool {
        guard let text else { return true }
        return system.displayName == text || text.count >= 4 && system.id.description.hasPrefix(text)
    }

    private var waited: String {
        let seconds = self.wait / .seconds(1)
        return seconds == seconds.rounded() ? "\(Int(seconds)) s" : "\(seconds) s"
    }

    /// Returns the error when no system matches.
    ///
    /// - Parameter others: The names of the systems that were found instead.
    private func notFound(_ reason: DiagnosisFinding?, others: some Collection<String>) -> Failure {
        let name = self.text.map { " called \($0)" } ?? ""
        if let text, !others.isEmpty {
            let account = self.anyoneNearby ? "of another account" : "of this account"
            return Failure(
                "unreachable",
                "No system\(name) \(account) was found in \(self.waited)."
                    + SimilarNames.question(for: text, among: others)
                    + " Found instead: \(NameList.text(others)). 'remotesystems list' shows all systems.",
                canRetry: true
            )
        }
        guard !self.anyoneNearby else {
            return Failure(
                "unreachable",
                "No system\(name) of another account that accepts callers of other accounts was found in "
                    + "\(self.waited). Run 'remotesystems serve --anyone-nearby' on it, on the same network.",
                canRetry: true
            )
        }
        if let reason {
            return Failure(
                "unreachable",
                "No system\(name) of this account was found in \(self.waited). \(reason.what)"
                    + (reason.advice.map { " \($0)" } ?? ""),
                canRetry: true
            )
        }
        return Failure(
            "unreachable",
            "No system\(name) of this account was found in \(self.waited). Check that 'remotesystems serve' "
                + "is running on it, on the same network and in the same account. 'remotesystems doctor' looks for "
                + "causes on this machine.",
            canRetry: true
        )
    }

    private func ambiguous(_ systems: [RemoteSystem]) -> Failure {
        let ids = systems.prefix(8).map(\.id.short).joined(separator: ", ")
        return Failure(
            "misuse",
            "\(systems.count) systems match '\(self.text ?? "")'. Name one by its id: \(ids)."
        )
    }
}

extension SystemFinder {
    /// Returns the first matching system on which an application offers the service.
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
                    + question
                    + " Start the program that offers it on that system ('remotesystems serve' for pings), or name "
                    + "another service.",
                canRetry: true
            )
            failure.side = .remote
            return failure
        }
    }
}
