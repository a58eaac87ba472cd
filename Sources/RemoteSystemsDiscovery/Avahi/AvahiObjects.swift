// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi

/// Owns a C object that browses.
@safe
final class AvahiBrowser {
    private let connection: any AvahiConnection
    private let report: (BrowserReport) -> Void
    private var browser: OpaquePointer?

    init(
        connection: any AvahiConnection,
        interface: Int32,
        report: @escaping (BrowserReport) -> Void
    ) throws(AvahiError) {
        self.connection = connection
        self.report = report
        unsafe browser = try connection.newBrowser(
            on: interface,
            { _, interface, family, event, name, _, _, _, context in
                guard let context = unsafe context else { return }
                let own = unsafe Unmanaged<AvahiBrowser>.fromOpaque(context).takeUnretainedValue()
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
        if let browser = unsafe browser { unsafe connection.free(browser: browser) }
    }
}

/// Owns a C object that resolves.
@safe
final class AvahiResolver {
    private let connection: any AvahiConnection
    private let report: (ResolverReport) -> Void
    private var resolver: OpaquePointer?

    init(
        connection: any AvahiConnection,
        serviceInstance: ServiceInstance,
        report: @escaping (ResolverReport) -> Void
    ) throws(AvahiError) {
        self.connection = connection
        self.report = report
        unsafe resolver = try connection.newResolver(
            of: serviceInstance,
            { _, interface, _, event, _, _, _, hostName, address, port, text, _, context in
                guard let context = unsafe context else { return }
                let own = unsafe Unmanaged<AvahiResolver>.fromOpaque(context).takeUnretainedValue()
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
        if let resolver = unsafe resolver { unsafe connection.free(resolver: resolver) }
    }
}

/// Owns a C object that publishes.
@safe
final class AvahiPublisher {
    private let connection: any AvahiConnection
    private let report: (PublisherReport) -> Void
    private var group: OpaquePointer?

    init(
        connection: any AvahiConnection,
        publication: Publication,
        report: @escaping (PublisherReport) -> Void
    ) throws(AvahiError) {
        self.connection = connection
        self.report = report
        let group = try unsafe connection.newGroup(Unmanaged.passUnretained(self).toOpaque())
        guard let group = unsafe group else { throw AvahiError(code: connection.errorCode) }
        unsafe self.group = group
        for record in publication.records {
            try unsafe connection.add(record, on: publication.interface ?? anyInterface, to: group)
        }
        for address in publication.addresses { try unsafe connection.add(address, to: group) }
        try unsafe connection.commit(group: group)
    }

    deinit {
        if let group = unsafe group { unsafe connection.free(group: group) }
    }

    /// Called by both connections: their libraries' callbacks have the same arguments in different orders.
    static func changed(_ state: AvahiEntryGroupState, _ context: UnsafeMutableRawPointer?) {
        guard let context = unsafe context else { return }
        let own = unsafe Unmanaged<AvahiPublisher>.fromOpaque(context).takeUnretainedValue()
        if let report = PublisherReport(state: state, error: own.connection.errorCode) { own.report(report) }
    }
}
