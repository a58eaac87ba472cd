// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi

/// Avahi through avahi-daemon, with libavahi-client.
@safe
final class DaemonConnection: AvahiConnection {
    /// Beyond the daemon's default of 1024 groups, browsers and resolvers for each client, it refuses more.
    static let openResolvers = 900

    private let avahi: RemoteSystemsAvahiClient
    private let loop: AvahiEventLoop
    private let waitsForDaemon: Bool
    private let report: (ConnectionReport) -> Void
    private var client: OpaquePointer?

    /// - Parameter waitsForDaemon: Whether a bus without a daemon is waited at, or an error.
    init(loop: AvahiEventLoop, waitsForDaemon: Bool, report: @escaping (ConnectionReport) -> Void) throws(AvahiError) {
        avahi = try AvahiLibrary.client()
        self.loop = loop
        self.waitsForDaemon = waitsForDaemon
        self.report = report
    }

    deinit {
        if let client = unsafe client { unsafe avahi.client_free(client) }
    }

    func start() throws(AvahiError) {
        let flags = waitsForDaemon ? AVAHI_CLIENT_NO_FAIL : AvahiClientFlags(0)
        var error = AvahiError.unknown.code
        let client = unsafe avahi.client_new(
            loop.api,
            flags,
            { client, state, context in
                guard let client = unsafe client, let context = unsafe context else { return }
                unsafe Unmanaged<DaemonConnection>.fromOpaque(context).takeUnretainedValue().changed(client, state)
            },
            Unmanaged.passUnretained(self).toOpaque(),
            &error
        )
        unsafe self.client = client
        if unsafe client == nil { throw AvahiError(code: error) }
    }

    /// Called for the first time before the client is known here.
    private func changed(_ client: OpaquePointer, _ state: AvahiClientState) {
        unsafe self.client = client
        switch state {
        // Whether the daemon still looks for a host name of its own does not matter to us: we use none.
        case AVAHI_CLIENT_S_RUNNING, AVAHI_CLIENT_S_REGISTERING, AVAHI_CLIENT_S_COLLISION: report(.ready)
        case AVAHI_CLIENT_CONNECTING: report(.waiting)
        case AVAHI_CLIENT_FAILURE: unsafe report(.lost(AvahiError(code: avahi.client_errno(client))))
        default: break
        }
    }

    private func started() throws(AvahiError) -> OpaquePointer {
        guard let client = unsafe client else { throw AvahiError(code: Int32(AVAHI_ERR_BAD_STATE)) }
        return unsafe client
    }

    private var errorCode: Int32 {
        guard let client = unsafe client else { return AvahiError.unknown.code }
        return unsafe avahi.client_errno(client)
    }

    /// What the daemon says of its version; it is asked when this is read.
    var version: String? {
        guard let client = unsafe client, let text = unsafe avahi.client_get_version_string(client) else { return nil }
        return unsafe String(cString: text)
    }

    // MARK: Browsing

    func browse(interface: Int32, report: @escaping (BrowserReport) -> Void) throws(AvahiError) -> AnyObject {
        try Browser(connection: self, interface: interface, report: report)
    }

    @safe
    private final class Browser {
        private let connection: DaemonConnection
        private let report: (BrowserReport) -> Void
        private var browser: OpaquePointer?

        init(
            connection: DaemonConnection,
            interface: Int32,
            report: @escaping (BrowserReport) -> Void
        ) throws(AvahiError) {
            self.connection = connection
            self.report = report
            let client = try unsafe connection.started()
            unsafe browser = connection.avahi.service_browser_new(
                client,
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
            if let browser = unsafe browser { _ = unsafe connection.avahi.service_browser_free(browser) }
        }
    }

    // MARK: Resolving

    func resolve(_ sighting: Sighting, report: @escaping (ResolverReport) -> Void) throws(AvahiError) -> AnyObject {
        try Resolver(connection: self, sighting: sighting, report: report)
    }

    @safe
    private final class Resolver {
        private let connection: DaemonConnection
        private let report: (ResolverReport) -> Void
        private var resolver: OpaquePointer?

        init(
            connection: DaemonConnection,
            sighting: Sighting,
            report: @escaping (ResolverReport) -> Void
        ) throws(AvahiError) {
            self.connection = connection
            self.report = report
            let client = try unsafe connection.started()
            unsafe resolver = connection.avahi.service_resolver_new(
                client,
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
            if let resolver = unsafe resolver { _ = unsafe connection.avahi.service_resolver_free(resolver) }
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
        private let connection: DaemonConnection
        private let report: (PublisherReport) -> Void
        private var group: OpaquePointer?

        init(
            connection: DaemonConnection,
            publication: Publication,
            report: @escaping (PublisherReport) -> Void
        ) throws(AvahiError) {
            self.connection = connection
            self.report = report
            let client = try unsafe connection.started()
            let group = unsafe connection.avahi.entry_group_new(
                client,
                { _, state, context in
                    guard let context = unsafe context else { return }
                    let own = unsafe Unmanaged<Publisher>.fromOpaque(context).takeUnretainedValue()
                    let error = own.connection.errorCode
                    if let report = PublisherReport(state: state, error: error) { own.report(report) }
                },
                Unmanaged.passUnretained(self).toOpaque()
            )
            guard let group = unsafe group else { throw AvahiError(code: connection.errorCode) }
            unsafe self.group = group
            let interface = publication.interface ?? anyInterface
            for record in publication.records {
                try unsafe AvahiError.check(
                    connection.avahi.entry_group_add_record(
                        group,
                        interface,
                        anyProtocol,
                        record.flags,
                        record.name,
                        ServiceRecord.internetClass,
                        record.kind.rawValue,
                        ServiceType.timeToLive,
                        record.data,
                        record.data.count
                    )
                )
            }
            for address in publication.addresses {
                var avahiAddress = address.address.avahiAddress
                try unsafe AvahiError.check(
                    connection.avahi.entry_group_add_address(
                        group,
                        address.interface,
                        avahiAddress.proto,
                        Publication.Address.flags,
                        address.hostName,
                        &avahiAddress
                    )
                )
            }
            try unsafe AvahiError.check(connection.avahi.entry_group_commit(group))
        }

        deinit {
            if let group = unsafe group { _ = unsafe connection.avahi.entry_group_free(group) }
        }
    }
}
