// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi

/// A connection to Avahi, in its daemon or embedded: two C interfaces of the same shape.
///
/// Connections and the objects they create are confined to the queue of their event loop. Each object owns one C object
/// and frees it in its `deinit` only. An object keeps its connection alive, so objects are freed before the connection.
/// Reports are delivered on the queue, possibly before the call that causes them has returned.
protocol AvahiConnection: AnyObject {
    /// Connects. Reports follow.
    func start() throws(AvahiError)

    /// Avahi's code for the last failure of this connection.
    var errorCode: Int32 { get }

    // The following functions create the C objects of ``AvahiBrowser``, ``AvahiResolver`` and ``AvahiPublisher``, with
    // the object as the callback's context. They return nil if Avahi refuses.
    func newBrowser(
        on interface: Int32,
        _ callback: AvahiServiceBrowserCallback,
        _ context: UnsafeMutableRawPointer
    ) throws(AvahiError) -> OpaquePointer?
    func newResolver(
        of serviceInstance: ServiceInstance,
        _ callback: AvahiServiceResolverCallback,
        _ context: UnsafeMutableRawPointer
    ) throws(AvahiError) -> OpaquePointer?
    func newGroup(_ context: UnsafeMutableRawPointer) throws(AvahiError) -> OpaquePointer?

    func add(_ record: ServiceRecord, on interface: Int32, to group: OpaquePointer) throws(AvahiError)
    func add(_ address: Publication.Address, to group: OpaquePointer) throws(AvahiError)
    func commit(group: OpaquePointer) throws(AvahiError)

    func free(browser: OpaquePointer)
    func free(resolver: OpaquePointer)
    func free(group: OpaquePointer)
}

extension AvahiConnection {
    /// Browses for our service type until the result is released.
    func browse(interface: Int32, report: @escaping (BrowserReport) -> Void) throws(AvahiError) -> AnyObject {
        try AvahiBrowser(connection: self, interface: interface, report: report)
    }

    /// Resolves a service instance, and again after every change, until the result is released.
    func resolve(_ serviceInstance: ServiceInstance, report: @escaping (ResolverReport) -> Void) throws(AvahiError)
        -> AnyObject
    {
        try AvahiResolver(connection: self, serviceInstance: serviceInstance, report: report)
    }

    /// Publishes the records until the result is released, which withdraws them.
    func publish(
        _ publication: Publication,
        report: @escaping (PublisherReport) -> Void
    ) throws(AvahiError) -> AnyObject {
        try AvahiPublisher(connection: self, publication: publication, report: report)
    }
}

/// A change of the connection's state.
enum ConnectionReport: Sendable {
    /// Browsing and publishing work.
    case ready
    /// No daemon is running yet. A further report follows.
    case waiting
    /// The connection is dead. Release it on another turn of the queue.
    case lost(AvahiError)
}

/// A report of a browser about service instances on its interface.
enum BrowserReport: Sendable {
    case seen(ServiceInstance)
    case gone(ServiceInstance)
    case allForNow
    case failed(AvahiError)
}

/// A report of a resolver about its service instance.
enum ResolverReport: Sendable {
    /// The resolver is running.
    case started
    /// Avahi refused to create the resolver.
    case refused(AvahiError)
    case found(Resolution)
    case failed(AvahiError)
}

/// A report about the records of a publication.
enum PublisherReport: Sendable {
    case established
    case collision
    case failed(AvahiError)
}

/// Records that are published and withdrawn together.
struct Publication: Sendable, Hashable {
    /// An address record of the advertised host name.
    struct Address: Sendable, Hashable {
        let host: String
        let address: NetworkAddress
        let interface: Int32
    }

    /// The interface for `records`; nil for all.
    var interface: Int32?
    var records: [ServiceRecord] = []
    var addresses: [Address] = []
}

// MARK: Shared by both interfaces

let anyInterface = Int32(AVAHI_IF_UNSPEC)
let anyProtocol = Int32(AVAHI_PROTO_UNSPEC)

extension ServiceInstance {
    /// Returns nil for an unknown protocol family.
    init?(interface: Int32, protocol: Int32, name: UnsafePointer<CChar>?) {
        guard let name = unsafe name, interface > 0 else { return nil }
        switch `protocol` {
        case Int32(AVAHI_PROTO_INET): family = .ipv4
        case Int32(AVAHI_PROTO_INET6): family = .ipv6
        default: return nil
        }
        self.interface = interface
        instance = unsafe String(cString: name)
    }

    var avahiProtocol: Int32 {
        switch family {
        case .ipv4: Int32(AVAHI_PROTO_INET)
        case .ipv6: Int32(AVAHI_PROTO_INET6)
        }
    }
}

extension BrowserReport {
    init?(event: AvahiBrowserEvent, interface: Int32, protocol: Int32, name: UnsafePointer<CChar>?, error: Int32) {
        switch event {
        case AVAHI_BROWSER_NEW, AVAHI_BROWSER_REMOVE:
            guard let serviceInstance = unsafe ServiceInstance(interface: interface, protocol: `protocol`, name: name)
            else {
                return nil
            }
            self = event == AVAHI_BROWSER_NEW ? .seen(serviceInstance) : .gone(serviceInstance)
        case AVAHI_BROWSER_ALL_FOR_NOW: self = .allForNow
        case AVAHI_BROWSER_FAILURE: self = .failed(AvahiError(code: error))
        default: return nil
        }
    }
}

extension ResolverReport {
    init(
        event: AvahiResolverEvent,
        interface: Int32,
        hostName: UnsafePointer<CChar>?,
        address: UnsafePointer<AvahiAddress>?,
        port: UInt16,
        text: UnsafeMutablePointer<AvahiStringList>?,
        error: Int32
    ) {
        guard event == AVAHI_RESOLVER_FOUND, port > 0, let hostName = unsafe hostName,
            let address = unsafe address,
            let address = unsafe NetworkAddress(address.pointee)
        else {
            self = .failed(AvahiError(code: error))
            return
        }
        let interface = NetworkInterface.named(index: interface)
        let endpoint = DiscoveryEndpoint(
            address: address.text(scope: interface?.name),
            port: Int(port),
            interface: interface
        )
        self = unsafe .found(
            Resolution(
                hostName: String(cString: hostName),
                endpoint: endpoint,
                properties: TXTRecord.decode(text)
            )
        )
    }
}

extension TXTRecord {
    /// Decodes the properties in Avahi's list of strings. Avahi returns the strings in the order of the record.
    static func decode(_ list: UnsafeMutablePointer<AvahiStringList>?) -> [String: [UInt8]] {
        var strings: [[UInt8]] = []
        var node = unsafe list
        while let current = unsafe node, strings.count < DiscoveryLimits.properties {
            let size = unsafe avahi_string_list_get_size(current)
            if let text = unsafe avahi_string_list_get_text(current) {
                strings.append(unsafe Array(UnsafeBufferPointer(start: text, count: size)))
            }
            unsafe node = avahi_string_list_get_next(current)
        }
        return decode(strings)
    }
}

extension PublisherReport {
    /// Returns nil for intermediate states.
    init?(state: AvahiEntryGroupState, error: Int32) {
        switch state {
        case AVAHI_ENTRY_GROUP_ESTABLISHED: self = .established
        case AVAHI_ENTRY_GROUP_COLLISION: self = .collision
        case AVAHI_ENTRY_GROUP_FAILURE: self = .failed(AvahiError(code: error))
        default: return nil
        }
    }
}

extension ServiceRecord {
    /// The flags of the service's records. The names are random and therefore unique. Probing for conflicts (RFC 6762
    /// §8.1) would only cost 0.75 s.
    var flags: AvahiPublishFlags {
        isUnique
            ? AvahiPublishFlags(AVAHI_PUBLISH_UNIQUE.rawValue | AVAHI_PUBLISH_NO_PROBE.rawValue) : AvahiPublishFlags(0)
    }

    static let internetClass = UInt16(AVAHI_DNS_CLASS_IN)
}

extension Publication.Address {
    /// The flags of address records: no reverse record, because only one host name of a machine can have it. Two stacks
    /// that both publish a reverse record keep replacing each other's record.
    static let flags = AvahiPublishFlags(AVAHI_PUBLISH_NO_REVERSE.rawValue | AVAHI_PUBLISH_NO_PROBE.rawValue)

    var hostName: String { "\(host).\(ServiceType.domain)" }
}
