// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi
import Logging

/// Avahi inside this process, with libavahi-core: no daemon, no bus, no rights.
///
/// It announces nothing of its own, only what is published through it, so that several of them and a daemon live together on one
/// machine: two stacks that both published the machine's addresses under different names would rename each other for ever.
@safe
final class EmbeddedConnection: AvahiConnection {
    /// Four records for each of the instances that we keep track of, and room for others'.
    private static let cachedRecords: UInt32 = 4 * 4096 + 4096
    /// More than the files it opens: sockets for both families, one to the kernel, one to be woken by.
    private static let files = 16

    private let avahi: RemoteSystemsAvahiCore
    private let loop: AvahiEventLoop
    private let interfaces: [String]?
    private let usesIPv6: Bool
    private let report: (ConnectionReport) -> Void
    private var server: OpaquePointer?

    /// - Parameter interfaces: The names of those that may be used; nil for all.
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
        // Says goodbye for what is still published.
        if let server = unsafe server { unsafe avahi.server_free(server) }
    }

    func start() throws(AvahiError) {
        // It ends the process when it gets none.
        guard FreeDescriptors.hasRoom(for: Self.files) else { throw .tooFewFiles }
        var configuration = unsafe AvahiServerConfig()
        _ = unsafe avahi.server_config_init(&configuration)
        defer { unsafe avahi.server_config_free(&configuration) }
        // Never announced; but the default is this machine's name, which nobody shall learn by accident.
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
        unsafe configuration.n_cache_entries_max = Self.cachedRecords
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
            // Somebody has our random name; the stack goes on once it has another.
            _ = unsafe avahi.server_set_host_name(server, DomainName.randomLabel())
        case AVAHI_SERVER_FAILURE: unsafe report(.lost(AvahiError(code: avahi.server_errno(server))))
        default: break
        }
    }

    private func started() throws(AvahiError) -> OpaquePointer {
        guard let server = unsafe server else { throw AvahiError(code: Int32(AVAHI_ERR_BAD_STATE)) }
        return unsafe server
    }

    private var errorCode: Int32 {
        guard let server = unsafe server else { return AvahiError.unknown.code }
        return unsafe avahi.server_errno(server)
    }

    // MARK: Browsing

    func browse(interface: Int32, report: @escaping (BrowserReport) -> Void) throws(AvahiError) -> AnyObject {
        try Browser(connection: self, interface: interface, report: report)
    }

    @safe
    private final class Browser {
        private let connection: EmbeddedConnection
        private let report: (BrowserReport) -> Void
        private var browser: OpaquePointer?

        init(
            connection: EmbeddedConnection,
            interface: Int32,
            report: @escaping (BrowserReport) -> Void
        ) throws(AvahiError) {
            self.connection = connection
            self.report = report
            let server = try unsafe connection.started()
            unsafe browser = connection.avahi.s_service_browser_new(
                server,
                interface,
                anyProtocol,
                ServiceType.name,
                ServiceType.domain,
                AvahiLookupFlags(0),
                { browser, interface, family, event, name, _, _, _, context in
                    guard let context = unsafe context else { return }
                    let own = unsafe Unmanaged<Browser>.fromOpaque(context).takeUnretainedValue()
                    let error = own.connection.errorCode
                    let report = unsafe BrowserReport(
                        event: event,
                        interface: interface,
                        protocol: family,
                        name: name,
                        error: error
                    )
                    if let report { own.report(report) }
                },
                Unmanaged.passUnretained(self).toOpaque()
            )
            if unsafe browser == nil { throw AvahiError(code: connection.errorCode) }
        }

        deinit {
            if let browser = unsafe browser { unsafe connection.avahi.s_service_browser_free(browser) }
        }
    }

    // MARK: Resolving

    func resolve(_ sighting: Sighting, report: @escaping (ResolverReport) -> Void) throws(AvahiError) -> AnyObject {
        try Resolver(connection: self, sighting: sighting, report: report)
    }

    @safe
    private final class Resolver {
        private let connection: EmbeddedConnection
        private let report: (ResolverReport) -> Void
        private var resolver: OpaquePointer?

        init(
            connection: EmbeddedConnection,
            sighting: Sighting,
            report: @escaping (ResolverReport) -> Void
        ) throws(AvahiError) {
            self.connection = connection
            self.report = report
            let server = try unsafe connection.started()
            unsafe resolver = connection.avahi.s_service_resolver_new(
                server,
                sighting.interface,
                sighting.avahiProtocol,
                sighting.instance,
                ServiceType.name,
                ServiceType.domain,
                sighting.avahiProtocol,
                AvahiLookupFlags(0),
                { _, interface, _, event, _, _, _, hostName, address, port, text, _, context in
                    guard let context = unsafe context else { return }
                    let own = unsafe Unmanaged<Resolver>.fromOpaque(context).takeUnretainedValue()
                    let error = own.connection.errorCode
                    own.report(
                        unsafe ResolverReport(
                            event: event,
                            interface: interface,
                            hostName: hostName,
                            address: address,
                            port: port,
                            text: text,
                            error: error
                        )
                    )
                },
                Unmanaged.passUnretained(self).toOpaque()
            )
            if unsafe resolver == nil { throw AvahiError(code: connection.errorCode) }
        }

        deinit {
            if let resolver = unsafe resolver { unsafe connection.avahi.s_service_resolver_free(resolver) }
        }
    }

    // MARK: Publishing

    func publish(
        _ publication: Publication,
        report: @escaping (PublisherReport) -> Void
    ) throws(AvahiError) -> AnyObject {
        try Publisher(connection: self, publication: publication, report: report)
    }

    @safe
    private final class Publisher {
        private let connection: EmbeddedConnection
        private let report: (PublisherReport) -> Void
        private var group: OpaquePointer?

        init(
            connection: EmbeddedConnection,
            publication: Publication,
            report: @escaping (PublisherReport) -> Void
        ) throws(AvahiError) {
            self.connection = connection
            self.report = report
            let server = try unsafe connection.started()
            let group = unsafe connection.avahi.s_entry_group_new(
                server,
                { server, _, state, context in
                    guard let context = unsafe context else { return }
                    let own = unsafe Unmanaged<Publisher>.fromOpaque(context).takeUnretainedValue()
                    let error = own.connection.errorCode
                    if let report = PublisherReport(state: state, error: error) { own.report(report) }
                },
                Unmanaged.passUnretained(self).toOpaque()
            )
            guard let group = unsafe group else { throw AvahiError(code: connection.errorCode) }
            unsafe self.group = group
            for record in publication.records {
                try unsafe add(record, interface: publication.interface ?? anyInterface, to: group, of: server)
            }
            for address in publication.addresses {
                var avahiAddress = address.address.avahiAddress
                try unsafe AvahiError.check(
                    connection.avahi.server_add_address(
                        server,
                        group,
                        address.interface,
                        avahiAddress.proto,
                        Publication.Address.flags,
                        address.hostName,
                        &avahiAddress
                    )
                )
            }
            try unsafe AvahiError.check(connection.avahi.s_entry_group_commit(group))
        }

        private func add(
            _ record: ServiceRecord,
            interface: Int32,
            to group: OpaquePointer,
            of server: OpaquePointer
        ) throws(AvahiError) {
            let avahiRecord = unsafe connection.avahi.record_new_full(
                record.name,
                ServiceRecord.internetClass,
                record.kind.rawValue,
                ServiceType.timeToLive
            )
            guard let avahiRecord = unsafe avahiRecord else { throw AvahiError(code: Int32(AVAHI_ERR_NO_MEMORY)) }
            // The server keeps a reference of its own.
            defer { unsafe connection.avahi.record_unref(avahiRecord) }
            guard unsafe connection.avahi.rdata_parse(avahiRecord, record.data, record.data.count) == 0 else {
                throw AvahiError(code: Int32(AVAHI_ERR_INVALID_RECORD))
            }
            try unsafe AvahiError.check(
                connection.avahi.server_add(server, group, interface, anyProtocol, record.flags, avahiRecord)
            )
        }

        deinit {
            if let group = unsafe group { unsafe connection.avahi.s_entry_group_free(group) }
        }
    }
}
