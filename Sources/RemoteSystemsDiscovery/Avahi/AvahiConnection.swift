// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi

/// Avahi, reached through its daemon or embedded: two C interfaces of one shape.
///
/// Connections and what they hand out are confined to the queue of their poll. Each owns one C object, freed in its `deinit` and
/// nowhere else; what a connection hands out keeps the connection alive, so the order of freeing is right by itself. Reports come
/// on the queue, possibly before the call that causes them has returned.
protocol AvahiConnection: AnyObject {
    /// Connects. Reports follow.
    func start() throws(AvahiError)

    /// What went wrong last.
    var errorCode: Int32 { get }

    // The C objects of the ``AvahiBrowser``, ``AvahiResolver`` and ``AvahiPublisher`` that go with the context; nil if Avahi
    // refuses one.
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
    /// Browses for our service type until the result is let go of.
    func browse(interface: Int32, report: @escaping (BrowserReport) -> Void) throws(AvahiError) -> AnyObject {
        try AvahiBrowser(connection: self, interface: interface, report: report)
    }

    /// Resolves a sighting, and again whenever it changes, until the result is let go of.
    func resolve(_ serviceInstance: ServiceInstance, report: @escaping (ResolverReport) -> Void) throws(AvahiError)
        -> AnyObject
    {
        try AvahiResolver(connection: self, serviceInstance: serviceInstance, report: report)
    }

    /// Publishes the records until the result is let go of, which withdraws them.
    func publish(
        _ publication: Publication,
        report: @escaping (PublisherReport) -> Void
    ) throws(AvahiError) -> AnyObject {
        try AvahiPublisher(connection: self, publication: publication, report: report)
    }
}

enum ConnectionReport: Sendable {
    /// Browsing and publishing work.
    case ready
    /// There is nobody to talk to yet; a further report follows.
    case waiting
    /// The connection is dead. It is to be let go of, on another turn of the queue.
    case lost(AvahiError)
}

enum BrowserReport: Sendable {
    case seen(ServiceInstance)
    case gone(ServiceInstance)
    case allForNow
    case failed(AvahiError)
}

enum ResolverReport: Sendable {
    /// The resolver is at work.
    case started
    /// There can be no such resolver.
    case refused(AvahiError)
    case found(Resolution)
    case failed(AvahiError)
}

enum PublisherReport: Sendable {
    case established
    case collision
    case failed(AvahiError)
}

/// Records that are published and withdrawn together.
struct Publication: Sendable, Hashable {
    /// An address record of the announced host name.
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

// MARK: What the two interfaces have in common

let anyInterface = Int32(AVAHI_IF_UNSPEC)
let anyProtocol = Int32(AVAHI_PROTO_UNSPEC)

extension ServiceInstance {
    /// Nil for a protocol family that is not known.
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
    /// The properties in Avahi's list of strings, which is read back in the order of the record.
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
    /// Nil for states in between.
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
    /// Our names are random: nobody else has them, so asking around first (probing) would only cost 0.75 s.
    var flags: AvahiPublishFlags {
        isUnique
            ? AvahiPublishFlags(AVAHI_PUBLISH_UNIQUE.rawValue | AVAHI_PUBLISH_NO_PROBE.rawValue) : AvahiPublishFlags(0)
    }

    static let internetClass = UInt16(AVAHI_DNS_CLASS_IN)
}

extension Publication.Address {
    /// No reverse record: only one host name on a machine can have that, and two stacks would fight over it for ever.
    static let flags = AvahiPublishFlags(AVAHI_PUBLISH_NO_REVERSE.rawValue | AVAHI_PUBLISH_NO_PROBE.rawValue)

    var hostName: String { "\(host).\(ServiceType.domain)" }
}
