// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// Keeps the ``KnownEndpoints`` of an account in its directory. All processes of the account use the same file.
///
/// A failure never affects the caller: it is logged, and the changes are stored together with later ones.
final class KnownSystems: Sendable {
    private enum Change: Hashable {
        case met(SystemID, host: String, port: Int, network: String)
        case described(SystemID, name: String, certificateEnd: Int)
        case refused(by: SystemID, certificateEnd: Int)
        case forgotten(SystemID)
        case endpointForgotten(SystemID, host: String, port: Int)
    }

    private struct State {
        var known: KnownEndpoints?
        var networks: PresentNetworks?
        /// The networks that were present at the last recall.
        var recalled: Set<String> = []
        /// The changes that are not stored yet, and their times in seconds since 1970.
        var changes: [Change: Int] = [:]
        /// Whether a call of ``KnownSystems/save()`` is due that has not taken the changes yet.
        var isSavePending = false

        /// Records a change. Returns whether ``KnownSystems/save()`` must be called, because no call is due.
        mutating func add(_ change: Change) -> Bool {
            self.keep(change, at: KnownSystems.now)
            guard !self.isSavePending else { return false }
            self.isSavePending = true
            return true
        }

        /// Records a change that is stored by the next save.
        mutating func keep(_ change: Change, at time: Int) {
            guard self.changes.count < KnownSystems.maxChanges else { return }
            self.changes[change] = time
        }

        /// Returns the changes to store.
        mutating func takeChanges() -> [Change: Int] {
            defer { self.changes = [:] }
            self.isSavePending = false
            return self.changes
        }

        /// Records changes that could not be stored. Later ones have precedence.
        mutating func putBack(_ changes: [Change: Int]) {
            for (change, time) in changes where self.changes[change] == nil { self.keep(change, at: time) }
        }
    }

    /// The maximum number of changes that wait to be stored. More are not remembered.
    private static let maxChanges = KnownEndpoints.maxEndpoints

    private let store: AccountStore
    private let ownSystem: SystemID
    private let reach: NetworkReach
    private let queue: AccountQueue
    private let logger: Logger
    private let state = Mutex(State())

    /// Creates access to the file of known endpoints. Reads nothing yet.
    ///
    /// - Parameters:
    ///   - reach: the part of the network that may be used.
    ///   - queue: runs the access to the files.
    init(store: AccountStore, ownSystem: SystemID, reach: NetworkReach, queue: AccountQueue, logger: Logger) {
        self.store = store
        self.ownSystem = ownSystem
        self.reach = reach
        self.queue = queue
        self.logger = logger
    }

    // MARK: Recalling

    /// Reads the file again at the next recall, and recalls the systems on every network once more.
    func restart() {
        self.state.withLock { state in
            state.known = nil
            state.recalled = []
            // A save that was due was cancelled with the browser's previous run.
            state.isSavePending = false
        }
    }

    /// The processes that were met on networks that have appeared since the last call, the newest first.
    ///
    /// - Parameter revoked: the systems to forget.
    func recall(on networks: PresentNetworks, revoked: [SystemID]) async -> [KnownProcess] {
        return await self.queue.run {
            let known = self.state.withLock { $0.known } ?? self.read()
            return self.state.withLock { state in
                state.known = known
                state.networks = networks
                if state.known?.forget(revoked) ?? false {
                    for system in revoked { state.keep(.forgotten(system), at: Self.now) }
                }
                return self.newProcesses(networks, &state)
            }
        }
    }

    /// All processes that were met on the networks of the last recall, the newest first.
    func recallAgain() -> [KnownProcess] {
        self.state.withLock { state in
            guard let networks = state.networks else { return [] }
            state.recalled = []
            return self.newProcesses(networks, &state)
        }
    }

    private func newProcesses(_ present: PresentNetworks, _ state: inout State) -> [KnownProcess] {
        var identities: Set<String> = []
        let processes = state.known?.processes { host in
            let networks = self.usable(present, host).map(\.identity)
            identities.formUnion(networks)
            return networks.filter { !state.recalled.contains($0) }
        }
        state.recalled = identities
        return processes ?? []
    }

    /// The networks on which connections to the host are permitted.
    private func usable(_ present: PresentNetworks, _ host: String) -> [PresentNetworks.Network] {
        guard (try? self.reach.check(host: host)) != nil else { return [] }
        let networks = present.networks(of: host)
        guard case .interfaces(let names) = self.reach else { return networks }
        return networks.filter { $0.isLoopback || names.contains($0.interface) }
    }

    private func read() -> KnownEndpoints {
        do {
            guard let file = try self.store.contents(of: .knownEndpoints) else { return .empty() }
            var known = try KnownEndpoints(file: file)
            known.dropOld(now: Self.now)
            return known
        } catch {
            self.logger.info("The endpoints of known systems were ignored", metadata: ["reason": "\(error)"])
            return .empty()
        }
    }

    // MARK: Changes

    /// Records that a system was reached at an endpoint.
    ///
    /// - Returns: whether ``save()`` must be called, since no call is due.
    func met(_ system: SystemID, at endpoint: Endpoint) -> Bool {
        guard endpoint.transport == .ip, system != self.ownSystem else { return false }
        return self.state.withLock { state in
            guard let networks = state.networks, let network = self.usable(networks, endpoint.host).first else {
                return false
            }
            let (host, port) = (endpoint.host, endpoint.port)
            guard
                state.known?.met(system, host: host, port: port, on: network.identity, at: Self.now) ?? false
            else { return false }
            return state.add(.met(system, host: host, port: port, network: network.identity))
        }
    }

    /// Records the name of a system that was met and the end of its certificate.
    ///
    /// - Returns: whether ``save()`` must be called, since no call is due.
    func met(_ system: SystemID, named name: String, certificateEnd: Date) -> Bool {
        guard system != self.ownSystem else { return false }
        let meeting = KnownEndpoints.Meeting(name: name, certificateEnd: certificateEnd, time: Self.now)
        return self.state.withLock { state in
            // A program that needs one system may end before the file was read.
            guard state.known?.met(system, meeting) ?? true else { return false }
            return state.add(.described(system, name: name, certificateEnd: meeting.certificateEnd))
        }
    }

    /// Records that a system refused this one as revoked.
    ///
    /// - Parameter certificateEnd: the end of the certificate that was refused.
    /// - Returns: whether ``save()`` must be called, since no call is due.
    func refused(by system: SystemID, certificateEnd: Date) -> Bool {
        let end = Int(certificateEnd.timeIntervalSince1970)
        let refusal = KnownEndpoints.Refusal(system: "\(system)", certificateEnd: end, time: Self.now)
        return self.state.withLock { state in
            guard state.known?.refused(refusal) ?? false else { return false }
            return state.add(.refused(by: system, certificateEnd: end))
        }
    }

    /// Forgets systems, because they were revoked. Returns whether ``save()`` must be called.
    func forget(_ systems: [SystemID]) -> Bool {
        self.state.withLock { state in
            guard state.known?.forget(systems) ?? false else { return false }
            return systems.reduce(false) { state.add(.forgotten($1)) || $0 }
        }
    }

    /// Forgets an endpoint, because another system responds there. Returns whether ``save()`` must be called.
    func forget(_ system: SystemID, at endpoints: [Endpoint]) -> Bool {
        self.state.withLock { state in
            endpoints.reduce(false) { isFirst, endpoint in
                let (host, port) = (endpoint.host, endpoint.port)
                guard state.known?.forget(system, host: host, port: port) ?? false else { return isFirst }
                return state.add(.endpointForgotten(system, host: host, port: port)) || isFirst
            }
        }
    }

    /// Stores the changes, together with those of other processes. If that fails, the next change asks for it again.
    func save() async {
        guard self.state.withLock({ !$0.changes.isEmpty }) else { return }
        await self.queue.run { self.write() }
    }

    private func write() {
        let changes = self.state.withLock { $0.takeChanges() }
        guard !changes.isEmpty else { return }
        do {
            var failure: (any Error)?
            try self.store.update(.knownEndpoints, of: self.ownSystem) { file in
                do {
                    let before = try KnownEndpoints.reading(file)
                    let known = Self.applied(changes, to: before)
                    // Only the salt decides whether the networks in memory and in the file are comparable.
                    self.state.withLock { $0.known = known }
                    return try known == before ? nil : known.file()
                } catch {
                    failure = error
                    return nil
                }
            }
            if let failure { throw failure }
        } catch {
            self.state.withLock { $0.putBack(changes) }
            self.logFailure(error)
        }
    }

    private func logFailure(_ error: any Error) {
        self.logger.info("The endpoints of known systems were not stored", metadata: ["reason": "\(error)"])
    }

    private static func applied(_ changes: [Change: Int], to known: KnownEndpoints) -> KnownEndpoints {
        var known = known
        known.dropOld(now: Self.now)
        for (change, time) in changes.sorted(by: { $0.value < $1.value }) {
            switch change {
            case .met(let system, let host, let port, let network):
                known.met(system, host: host, port: port, on: network, at: time)
            case .described(let system, let name, let end):
                known.met(system, KnownEndpoints.Meeting(name: name, certificateEnd: end, time: time))
            case .refused(let system, let end):
                known.refused(KnownEndpoints.Refusal(system: "\(system)", certificateEnd: end, time: time))
            case .forgotten(let system): known.forget([system])
            case .endpointForgotten(let system, let host, let port): known.forget(system, host: host, port: port)
            }
        }
        return known
    }

    private static var now: Int { Int(Date().timeIntervalSince1970) }
}
