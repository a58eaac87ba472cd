// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The session's end of a connection that an ``AvahiWorker`` runs. Confined to the session's queue. No call waits for
/// Avahi.
///
/// The returned objects keep the link alive. Releasing an object frees it in Avahi. Releasing the link and its last
/// object closes the connection.
final class AvahiLink {
    private enum Observer {
        case browser((BrowserReport) -> Void)
        case resolver((ResolverReport) -> Void)
        case publisher((PublisherReport) -> Void)
    }

    let worker: AvahiWorker
    private var observers = ListenerTable<Observer>()

    init(_ worker: AvahiWorker) {
        self.worker = worker
    }

    deinit {
        worker.perform { $0.close() }
    }

    /// Connects to the given Avahi, or to one that is chosen now.
    func open(_ selection: AvahiDiscovery.Selection?) {
        worker.perform { $0.open(selection) }
    }

    /// Passes a report to the object's observer. A report about a released object is dropped.
    func deliver(_ report: AvahiWorker.Report) {
        switch report {
        case .browser(let id, let report):
            if case .browser(let observe) = observers[id] { observe(report) }
        case .resolver(let id, let report):
            if case .resolver(let observe) = observers[id] { observe(report) }
        case .publisher(let id, let report):
            if case .publisher(let observe) = observers[id] { observe(report) }
        case .selected, .connection: break
        }
    }

    // MARK: Objects

    /// Browses for our service type until the result is released.
    func browse(interface: Int32, report: @escaping (BrowserReport) -> Void) -> AnyObject {
        let id = observers.add(.browser(report))
        worker.perform { $0.browse(id, interface: interface) }
        return Object(self, id)
    }

    /// Resolves a service instance, and again after every change, until the result is released.
    ///
    /// - Parameter report: Called once with `started` or `refused`, and once with every result.
    func resolve(_ serviceInstance: ServiceInstance, report: @escaping (ResolverReport) -> Void) -> AnyObject {
        let id = observers.add(.resolver(report))
        worker.perform { $0.resolve(id, serviceInstance) }
        return Object(self, id)
    }

    /// Publishes the records until the result is released, which withdraws them.
    func publish(_ publication: Publication, report: @escaping (PublisherReport) -> Void) -> AnyObject {
        let id = observers.add(.publisher(report))
        worker.perform { $0.publish(id, publication) }
        return Object(self, id)
    }

    private func free(_ id: UInt64) {
        _ = observers.remove(id)
        worker.perform { $0.free(id) }
    }

    private final class Object {
        private let link: AvahiLink
        private let id: UInt64

        init(_ link: AvahiLink, _ id: UInt64) {
            self.link = link
            self.id = id
        }

        deinit { link.free(id) }
    }
}
