// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi

/// A connection to avahi-daemon, with libavahi-client.
@safe
final class DaemonConnection: AvahiConnection {
    /// The maximum number of open resolvers. The daemon's default limit is 1024 groups, browsers and resolvers for each
    /// client.
    static let openResolvers = 900

    private let avahi: RemoteSystemsAvahiClient
    private let loop: AvahiEventLoop
    private let waitsForDaemon: Bool
    private let report: (ConnectionReport) -> Void
    private var client: OpaquePointer?

    /// Creates a connection to the daemon.
    ///
    /// - Parameter waitsForDaemon: Whether to wait if the bus has no daemon. If false, `start` throws.
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

    /// Handles a change of the client's state. Avahi calls it for the first time before `client_new` has returned.
    private func changed(_ client: OpaquePointer, _ state: AvahiClientState) {
        unsafe self.client = client
        switch state {
        // We do not use the daemon's host name, so it does not matter whether the daemon still chooses one.
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

    var errorCode: Int32 {
        guard let client = unsafe client else { return AvahiError.unknown.code }
        return unsafe avahi.client_errno(client)
    }

    /// The daemon's version. Reading it sends a request to the daemon.
    var version: String? {
        guard let client = unsafe client, let text = unsafe avahi.client_get_version_string(client) else { return nil }
        return unsafe String(cString: text)
    }

    // MARK: The C objects

    func newBrowser(
        on interface: Int32,
        _ callback: AvahiServiceBrowserCallback,
        _ context: UnsafeMutableRawPointer
    ) throws(AvahiError) -> OpaquePointer? {
        unsafe avahi.service_browser_new(
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
        unsafe avahi.service_resolver_new(
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
        unsafe avahi.entry_group_new(
            try started(),
            { _, state, context in unsafe AvahiPublisher.changed(state, context) },
            context
        )
    }

    func add(_ record: ServiceRecord, on interface: Int32, to group: OpaquePointer) throws(AvahiError) {
        try unsafe AvahiError.check(
            avahi.entry_group_add_record(
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

    func add(_ address: Publication.Address, to group: OpaquePointer) throws(AvahiError) {
        var avahiAddress = address.address.avahiAddress
        try unsafe AvahiError.check(
            avahi.entry_group_add_address(
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
        try unsafe AvahiError.check(avahi.entry_group_commit(group))
    }

    func free(browser: OpaquePointer) { _ = unsafe avahi.service_browser_free(browser) }
    func free(resolver: OpaquePointer) { _ = unsafe avahi.service_resolver_free(resolver) }
    func free(group: OpaquePointer) { _ = unsafe avahi.entry_group_free(group) }
}
