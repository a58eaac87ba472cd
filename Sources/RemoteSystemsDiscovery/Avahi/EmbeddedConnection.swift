// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi
import Logging

/// Avahi inside this process, with libavahi-core. It needs no daemon, bus or privileges.
///
/// It advertises only what is published through it, so several embedded stacks and a daemon can run on one machine. Two
/// stacks that both published the machine's addresses under different names would keep renaming each other.
@safe
final class EmbeddedConnection: AvahiConnection {
    /// The number of cached records for each interface and protocol: enough for the instances that a browse tracks, and
    /// 4096 for other services.
    static let cachedRecords = ServiceType.recordsPerService * DiscoveryLimits.hints + 4096
    /// A number of files above the descriptors that libavahi-core opens: sockets for both families, one to the kernel
    /// and one for wake-ups.
    private static let files = 16

    private let avahi: RemoteSystemsAvahiCore
    private let loop: AvahiEventLoop
    private let interfaces: [String]?
    private let usesIPv6: Bool
    private let report: (ConnectionReport) -> Void
    private var server: OpaquePointer?

    /// Creates a stack in this process.
    ///
    /// - Parameter interfaces: The names of the interfaces that may be used; nil for all.
    init(
        loop: AvahiEventLoop,
        interfaces: [String]?,
        usesIPv6: Bool,
        logger: Logger,
        report: @escaping (ConnectionReport) -> Void
    ) throws(AvahiError) {
        avahi = try AvahiLibrary.core()
        unsafe AvahiLog.route(avahi.set_log_function, to: logger)
        self.loop = loop
        self.interfaces = interfaces
        self.usesIPv6 = usesIPv6
        self.report = report
    }

    deinit {
        // Sends a goodbye for everything that is still published.
        if let server = unsafe server { unsafe avahi.server_free(server) }
    }

    func start() throws(AvahiError) {
        // libavahi-core ends the process if it gets no descriptors.
        guard FileDescriptorLimit.hasCapacity(for: Self.files) else { throw .tooFewFiles }
        var configuration = unsafe AvahiServerConfig()
        _ = unsafe avahi.server_config_init(&configuration)
        defer { unsafe avahi.server_config_free(&configuration) }
        // The name is not advertised. The default would be the machine's name, which must not leak by accident.
        unsafe avahi_free(configuration.host_name)
        unsafe configuration.host_name = avahi_strdup(DomainName.randomLabel())
        for interface in interfaces ?? [] {
            unsafe configuration.allow_interfaces = avahi_string_list_add(configuration.allow_interfaces, interface)
        }
        unsafe configuration.use_ipv4 = 1
        unsafe configuration.use_ipv6 = usesIPv6 ? 1 : 0
        unsafe configuration.publish_addresses = 0
        unsafe configuration.publish_hinfo = 0
        unsafe configuration.publish_workstation = 0
        unsafe configuration.publish_domain = 0
        unsafe configuration.use_iff_running = 1
        unsafe configuration.enable_wide_area = 0
        unsafe configuration.disallow_other_stacks = 0
        unsafe configuration.n_cache_entries_max = UInt32(Self.cachedRecords)
        unsafe configuration.ratelimit_interval = 1_000_000
        unsafe configuration.ratelimit_burst = 1000
        var error = AvahiError.unknown.code
        let server = unsafe avahi.server_new(
            loop.api,
            &configuration,
            { server, state, context in
                guard let server = unsafe server, let context = unsafe context else { return }
                unsafe Unmanaged<EmbeddedConnection>.fromOpaque(context).takeUnretainedValue().changed(server, state)
            },
            Unmanaged.passUnretained(self).toOpaque(),
            &error
        )
        unsafe self.server = server
        if unsafe server == nil { throw AvahiError(code: error) }
    }

    private func changed(_ server: OpaquePointer, _ state: AvahiServerState) {
        unsafe self.server = server
        switch state {
        case AVAHI_SERVER_RUNNING, AVAHI_SERVER_REGISTERING: report(.ready)
        case AVAHI_SERVER_COLLISION:
            // Another host uses our random name. The stack goes on with a new one.
            _ = unsafe avahi.server_set_host_name(server, DomainName.randomLabel())
        case AVAHI_SERVER_FAILURE: unsafe report(.lost(AvahiError(code: avahi.server_errno(server))))
        default: break
        }
    }

    private func started() throws(AvahiError) -> OpaquePointer {
        guard let server = unsafe server else { throw AvahiError(code: Int32(AVAHI_ERR_BAD_STATE)) }
        return unsafe server
    }

    var errorCode: Int32 {
        guard let server = unsafe server else { return AvahiError.unknown.code }
        return unsafe avahi.server_errno(server)
    }

    // MARK: The C objects

    func newBrowser(
        on interface: Int32,
        _ callback: AvahiServiceBrowserCallback,
        _ context: UnsafeMutableRawPointer
    ) throws(AvahiError) -> OpaquePointer? {
        unsafe avahi.s_service_browser_new(
            try started(),
            interface,
            anyProtocol,
            ServiceType.name,
            ServiceType.domain,
            AvahiLookupFlags(0),
            callback,
            context
        )
    }

    func newResolver(
        of serviceInstance: ServiceInstance,
        _ callback: AvahiServiceResolverCallback,
        _ context: UnsafeMutableRawPointer
    ) throws(AvahiError) -> OpaquePointer? {
        unsafe avahi.s_service_resolver_new(
            try started(),
            serviceInstance.interface,
            serviceInstance.avahiProtocol,
            serviceInstance.instance,
            ServiceType.name,
            ServiceType.domain,
            serviceInstance.avahiProtocol,
            AvahiLookupFlags(0),
            callback,
            context
        )
    }

    func newGroup(_ context: UnsafeMutableRawPointer) throws(AvahiError) -> OpaquePointer? {
        unsafe avahi.s_entry_group_new(
            try started(),
            { _, _, state, context in unsafe AvahiPublisher.changed(state, context) },
            context
        )
    }

    func add(_ record: ServiceRecord, on interface: Int32, to group: OpaquePointer) throws(AvahiError) {
        let avahiRecord = unsafe avahi.record_new_full(
            record.name,
            ServiceRecord.internetClass,
            record.kind.rawValue,
            ServiceType.timeToLive
        )
        guard let avahiRecord = unsafe avahiRecord else { throw AvahiError(code: Int32(AVAHI_ERR_NO_MEMORY)) }
        // The server keeps its own reference.
        defer { unsafe avahi.record_unref(avahiRecord) }
        guard unsafe avahi.rdata_parse(avahiRecord, record.data, record.data.count) == 0 else {
            throw AvahiError(code: Int32(AVAHI_ERR_INVALID_RECORD))
        }
        try unsafe AvahiError.check(
            avahi.server_add(started(), group, interface, anyProtocol, record.flags, avahiRecord)
        )
    }

    func add(_ address: Publication.Address, to group: OpaquePointer) throws(AvahiError) {
        var avahiAddress = address.address.avahiAddress
        try unsafe AvahiError.check(
            avahi.server_add_address(
                started(),
                group,
                address.interface,
                avahiAddress.proto,
                Publication.Address.flags,
                address.hostName,
                &avahiAddress
            )
        )
    }

    func commit(group: OpaquePointer) throws(AvahiError) {
        try unsafe AvahiError.check(avahi.s_entry_group_commit(group))
    }

    func free(browser: OpaquePointer) { unsafe avahi.s_service_browser_free(browser) }
    func free(resolver: OpaquePointer) { unsafe avahi.s_service_resolver_free(resolver) }
    func free(group: OpaquePointer) { unsafe avahi.s_entry_group_free(group) }
}
