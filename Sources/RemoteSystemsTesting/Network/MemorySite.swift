// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Logging
internal import NIOCore
package import RemoteSystemsTransport
internal import Synchronization

extension TransportKind {
    /// The transport between the systems of a stage, in memory.
    package static let memory = TransportKind(rawValue: "memory")
}

/// One system's site on a network in memory: its address, its ports and its link.
///
/// It is the transport of the system's hosts and connections.
final class MemorySite: Transport {
    enum Direction: Hashable { case toSystem, fromSystem }

    private struct State {
        var conditions = LinkConditions()
        var faults: [Direction: LinkFaults] = [:]
        var messageFaults = MessageFaults()
        var ports: [Int: ChannelInitializer] = [:]
        var lastPort = 49_151
        var wires: [ObjectIdentifier: Wire] = [:]
        var isCrashed = false
    }

    /// The site's name on the network. It is not an IP address and must not be parsed as one.
    let address: String
    /// Whether the site counts as nearby for the others.
    let isNearby: Bool
    let loop: StageEventLoop
    /// The application ids that hosts on this site have claimed.
    let applicationClaims = MemoryApplicationClaims()
    private let network: MemoryNetwork
    private let state = Mutex(State())

    init(address: String, isNearby: Bool, network: MemoryNetwork) {
        self.address = address
        self.isNearby = isNearby
        self.network = network
        self.loop = network.loop
    }

    var kind: TransportKind { .memory }
    var loopbackHost: String? { "localhost" }
    func anyEventLoop() -> any EventLoop { self.loop }
    /// The site itself: it reaches only this process in any case.
    func limited(to reach: NetworkReach) -> (any Transport)? { self }

    /// The transports and the clock for the system: this site, in the stage's time.
    var transportNetwork: TransportNetwork {
        TransportNetwork([self], time: self.loop.time, taskExecutor: self.loop)
    }

    func isProximal(_ endpoint: Endpoint) -> Bool { self.site(at: endpoint.host)?.isNearby ?? false }

    // MARK: Connecting

    /// The names of every machine for itself.
    private static let loopback: Set = ["localhost", "127.0.0.1", "::1"]

    func connect(
        to endpoint: Endpoint,
        on eventLoop: any EventLoop,
        timeout: TimeAmount,
        initializer: @escaping ChannelInitializer
    ) -> EventLoopFuture<any Channel> {
        let promise = self.loop.makePromise(of: (any Channel).self)
        let patience = self.loop.scheduleTask(in: timeout, what: "the end of an attempt to connect") {
            promise.fail(ChannelError.connectTimeout(timeout))
        }
        // The attempt also fails if the stage is stopped before the timeout.
        patience.futureResult.whenFailure { _ in promise.fail(ChannelError.connectTimeout(timeout)) }
        promise.futureResult.whenComplete { _ in patience.cancel() }
        let target = self.site(at: endpoint.host)
        let conditions = target.map { self.conditions.joined(with: $0.conditions) } ?? self.conditions
        // A silent target never responds.
        guard !conditions.isSilent else { return promise.futureResult }
        self.loop.scheduleTask(in: TimeAmount(conditions.latency * 2), what: "a connection that is made") {
            guard let target, let accept = target.state.withLock({ $0.ports[endpoint.port] }) else {
                promise.fail(IOError(errnoCode: ECONNREFUSED, reason: "No host of the stage listens there."))
                return
            }
            self.join(target, port: endpoint.port, promise, initializer, accept)
        }
        return promise.futureResult
    }

    private func site(at host: String) -> MemorySite? {
        Self.loopback.contains(host) ? self : self.network.site(at: host)
    }

    private func join(
        _ target: MemorySite,
        port: Int,
        _ promise: EventLoopPromise<any Channel>,
        _ prepareCaller: @escaping ChannelInitializer,
        _ prepareHost: @escaping ChannelInitializer
    ) {
        let caller = MemoryChannel(eventLoop: self.loop, side: .caller, peer: target.peer(port: port))
        let host = MemoryChannel(eventLoop: self.loop, side: .host, peer: self.peer(port: self.takePort()))
        let wire = Wire(caller: (self, caller), host: (target, host), loop: self.loop)
        prepareHost(host).and(prepareCaller(caller)).whenComplete { result in
            switch result {
            case .success:
                MessageFaultHandler.install(on: caller, host: host, wire: wire, sites: (self, target))
                self.remember(wire)
                target.remember(wire)
                host.activate(wire)
                promise.succeed(caller)
                caller.activate(wire)
            case .failure(let error):
                host.close(promise: nil)
                caller.close(promise: nil)
                promise.fail(error)
            }
        }
    }

    /// Returns this site as the peer of the other end.
    private func peer(port: Int) -> TransportPeer {
        TransportPeer(
            Endpoint(transport: .memory, host: self.address, port: port),
            isProximal: self.isNearby
        )
    }

    // MARK: Listening

    func listen(
        host: String?,
        port: Int,
        logger: Logger,
        initializer: @escaping ChannelInitializer
    ) async throws -> BoundPort {
        let taken = port == 0 ? self.takePort() : port
        let isFree = self.state.withLock { state in
            guard state.ports[taken] == nil else { return false }
            state.ports[taken] = initializer
            return true
        }
        guard isFree else { throw IOError(errnoCode: EADDRINUSE, reason: "Another host of the stage listens there.") }
        return BoundPort(port: taken) { self.stopListening(at: taken) }
    }

    private func takePort() -> Int {
        self.state.withLock { state in
            state.lastPort += 1
            return state.lastPort
        }
    }

    private func stopListening(at port: Int) {
        self.state.withLock { $0.ports[port] = nil }
    }

    // MARK: The link

    var conditions: LinkConditions { self.state.withLock { $0.conditions } }

    func change(_ body: (inout LinkConditions) -> Void) {
        let wires = self.state.withLock { state in
            body(&state.conditions)
            return Array(state.wires.values)
        }
        for wire in wires { wire.conditionsChanged() }
    }

    func change(_ direction: Direction, _ body: (inout LinkFaults) -> Void) {
        self.state.withLock { body(&$0.faults[direction, default: LinkFaults()]) }
    }

    /// Applies the link's faults to bytes that pass it.
    ///
    /// - Returns: The number of bytes that pass before the connection breaks; `nil` if all pass and it does not break.
    func pass(_ bytes: inout ByteBuffer, _ direction: Direction) -> Int? {
        let result = self.state.withLock { $0.faults[direction]?.pass(&bytes) }
        guard case .cut(let count)? = result else { return nil }
        return count
    }

    func add(_ fault: MessageFaults.Fault, at selector: StagedMessageSelector) {
        self.state.withLock { $0.messageFaults.add(fault, at: selector) }
    }

    /// Returns the fault for a message that passes the link; `nil` if there is none.
    func fault(of message: StagedMessage) -> MessageFaults.Fault? {
        self.state.withLock { $0.messageFaults.pass(message) }
    }

    /// Breaks every connection of this system.
    func cut() {
        for wire in self.state.withLock({ Array($0.wires.values) }) { wire.cut() }
    }

    /// Simulates a loss of power: all listening ports close and every connection breaks.
    func crash() {
        self.state.withLock { state in
            state.isCrashed = true
            state.ports = [:]
        }
        self.applicationClaims.clear()
        self.cut()
    }

    var isCrashed: Bool { self.state.withLock { $0.isCrashed } }

    /// Simulates power and cable being restored.
    func revive() {
        self.state.withLock { $0.isCrashed = false }
        self.change { $0.isSilent = false }
    }

    private func remember(_ wire: Wire) {
        self.state.withLock { $0.wires[ObjectIdentifier(wire)] = wire }
    }

    func forget(_ wire: Wire) {
        self.state.withLock { $0.wires[ObjectIdentifier(wire)] = nil }
    }
}
