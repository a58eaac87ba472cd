// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging

/// Runs one connection to Avahi and all its objects, on its own queue.
///
/// Every call of libavahi-client that creates or frees an object waits for the daemon's response. A daemon reads D-Bus
/// only while no multicast packet is waiting (avahi-common/simple-watch.c calls one callback in each turn, sockets
/// first). On a crowded network that takes seconds. The embedded stack takes as long for such packets, in this process.
/// So nothing else runs on this queue, and nothing waits for it: actions are performed in the order of the calls, and
/// reports are delivered asynchronously.
actor AvahiWorker {
    /// A report. Objects are identified by the ids of their requests.
    enum Report: Sendable {
        /// Which Avahi is used. The first report.
        case selected(AvahiDiscovery.Selection)
        case connection(ConnectionReport)
        case browser(UInt64, BrowserReport)
        case resolver(UInt64, ResolverReport)
        case publisher(UInt64, PublisherReport)
    }

    /// The settings with which a connection to Avahi is opened.
    struct Options: Sendable {
        var mode: AvahiDiscovery.Mode
        var interfaces: AvahiDiscovery.Interfaces
        var logger: Logger
    }

    private nonisolated let executor = QueueExecutor(label: "remote-systems.discovery.avahi")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private let options: Options
    private let deliver: @Sendable (Report) -> Void
    private var connection: (any AvahiConnection)?
    private var objects: [UInt64: AnyObject] = [:]

    /// Creates a worker that is not connected to Avahi.
    ///
    /// - Parameter deliver: Called on the worker's queue. Must not block.
    init(_ options: Options, deliver: @escaping @Sendable (Report) -> Void) {
        self.options = options
        self.deliver = deliver
    }

    /// Queues an action without waiting for it.
    nonisolated func perform(_ action: @escaping @Sendable (isolated AvahiWorker) -> Void) {
        executor.queue.async { self.assumeIsolated { action($0) } }
    }

    /// Queues an action with a delay.
    nonisolated func perform(after delay: DispatchTimeInterval, _ action: @escaping @Sendable () -> Void) {
        executor.queue.asyncAfter(deadline: .now() + delay) { action() }
    }

    // MARK: The connection

    /// Connects to the given Avahi, or to one that is chosen now.
    func open(_ known: AvahiDiscovery.Selection?) {
        let loop = AvahiEventLoop(queue: executor.queue)
        let selection = if let known { known } else { select(loop) }
        deliver(.selected(selection))
        do throws(AvahiError) {
            let connection = try connection(selection.backend, loop)
            self.connection = connection
            try connection.start()
        } catch {
            deliver(.connection(.lost(error)))
        }
    }

    /// Frees the connection and all its objects. No action may follow.
    func close() {
        objects = [:]
        connection = nil
    }

    /// Chooses an Avahi without connecting to it.
    func select() -> AvahiDiscovery.Selection {
        select(AvahiEventLoop(queue: executor.queue))
    }

    private func select(_ loop: AvahiEventLoop) -> AvahiDiscovery.Selection {
        switch options.mode.value {
        case .daemon:
            return .init(backend: .daemon, reason: "the daemon was selected explicitly")
        case .embedded:
            return .init(backend: .embedded, reason: "the embedded stack was selected explicitly")
        case .automatic where options.interfaces.isLoopbackOnly:
            return .init(
                backend: .embedded,
                reason: "only the loopback interface may be used, and a daemon may use others"
            )
        case .automatic:
            do throws(AvahiError) {
                let trial = try DaemonConnection(loop: loop, waitsForDaemon: false) { _ in }
                try trial.start()
                return .init(
                    backend: .daemon,
                    reason: "avahi-daemon responds on the system bus",
                    version: trial.version
                )
            } catch {
                return .init(backend: .embedded, reason: "no avahi-daemon responds on the system bus: \(error)")
            }
        }
    }

    private func connection(
        _ backend: AvahiDiscovery.Selection.Backend,
        _ loop: AvahiEventLoop
    ) throws(AvahiError) -> any AvahiConnection {
        let report = { [deliver] (report: ConnectionReport) in deliver(.connection(report)) }
        switch backend {
        case .daemon:
            return try DaemonConnection(loop: loop, waitsForDaemon: true, report: report)
        case .embedded:
            return try EmbeddedConnection(
                loop: loop,
                interfaces: options.interfaces.names,
                usesIPv6: !options.interfaces.isLoopbackOnly,
                logger: options.logger,
                report: report
            )
        }
    }

    // MARK: Objects

    /// Browses for our service type on an interface until the object is freed.
    func browse(_ id: UInt64, interface: Int32) {
        let report = { [deliver] (report: BrowserReport) in deliver(.browser(id, report)) }
        guard let connection else { return report(.failed(.unknown)) }
        do throws(AvahiError) {
            objects[id] = try connection.browse(interface: interface, report: report)
        } catch {
            report(.failed(error))
        }
    }

    /// Resolves a service instance, and again after every change, until the object is freed.
    func resolve(_ id: UInt64, _ serviceInstance: ServiceInstance) {
        let report = { [deliver] (report: ResolverReport) in deliver(.resolver(id, report)) }
        guard let connection else { return report(.refused(.unknown)) }
        do throws(AvahiError) {
            objects[id] = try connection.resolve(serviceInstance, report: report)
            report(.started)
        } catch {
            report(.refused(error))
        }
    }

    /// Publishes records until the object is freed, which withdraws them.
    func publish(_ id: UInt64, _ publication: Publication) {
        let report = { [deliver] (report: PublisherReport) in deliver(.publisher(id, report)) }
        guard let connection else { return report(.failed(.unknown)) }
        do throws(AvahiError) {
            objects[id] = try connection.publish(publication, report: report)
        } catch {
            report(.failed(error))
        }
    }

    func free(_ id: UInt64) {
        objects[id] = nil
    }
}
