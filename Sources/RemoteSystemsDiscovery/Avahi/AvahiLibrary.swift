// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi
import Glibc

/// Avahi's two libraries. Each is loaded at its first use and never unloaded.
///
/// Both define a symbol of the same name for different functions (see `libraries.h`), so each must resolve that symbol
/// to its own definition.
enum AvahiLibrary {
    private static let contested = "avahi_entry_group_free"

    static func client() throws(AvahiError) -> RemoteSystemsAvahiClient {
        let library = try Library("libavahi-client.so.3")
        return try unsafe RemoteSystemsAvahiClient(
            client_new: library.function("avahi_client_new"),
            client_free: library.function("avahi_client_free"),
            client_errno: library.function("avahi_client_errno"),
            client_get_version_string: library.function("avahi_client_get_version_string"),
            service_browser_new: library.function("avahi_service_browser_new"),
            service_browser_free: library.function("avahi_service_browser_free"),
            service_resolver_new: library.function("avahi_service_resolver_new"),
            service_resolver_free: library.function("avahi_service_resolver_free"),
            entry_group_new: library.function("avahi_entry_group_new"),
            entry_group_free: library.function(contested),
            entry_group_add_record: library.function("avahi_entry_group_add_record"),
            entry_group_add_address: library.function("avahi_entry_group_add_address"),
            entry_group_commit: library.function("avahi_entry_group_commit")
        )
    }

    static func core() throws(AvahiError) -> RemoteSystemsAvahiCore {
        let library = try Library("libavahi-core.so.7")
        return try unsafe RemoteSystemsAvahiCore(
            server_config_init: library.function("avahi_server_config_init"),
            server_config_free: library.function("avahi_server_config_free"),
            server_new: library.function("avahi_server_new"),
            server_free: library.function("avahi_server_free"),
            server_errno: library.function("avahi_server_errno"),
            server_set_host_name: library.function("avahi_server_set_host_name"),
            server_add: library.function("avahi_server_add"),
            server_add_address: library.function("avahi_server_add_address"),
            record_new_full: library.function("avahi_record_new_full"),
            record_unref: library.function("avahi_record_unref"),
            rdata_parse: library.function("avahi_rdata_parse"),
            s_service_browser_new: library.function("avahi_s_service_browser_new"),
            s_service_browser_free: library.function("avahi_s_service_browser_free"),
            s_service_resolver_new: library.function("avahi_s_service_resolver_new"),
            s_service_resolver_free: library.function("avahi_s_service_resolver_free"),
            s_entry_group_new: library.function("avahi_s_entry_group_new"),
            s_entry_group_free: library.function("avahi_s_entry_group_free"),
            s_entry_group_commit: library.function("avahi_s_entry_group_commit"),
            set_log_function: library.function("avahi_set_log_function")
        )
    }

    /// A loaded library. It is never unloaded, so its functions stay valid.
    @safe
    private struct Library {
        private let name: String
        private let handle: UnsafeMutableRawPointer

        init(_ name: String) throws(AvahiError) {
            // With RTLD_LOCAL, a library still finds the program's symbols before its own. If the program is linked
            // with one of the two libraries, for example through CUPS, the other one must search its own symbols first.
            let program = unsafe dlopen(nil, RTLD_LAZY)
            let isTaken = unsafe dlsym(program, contested) != nil
            let flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | (isTaken ? RTLD_DEEPBIND : 0)
            guard let handle = unsafe dlopen(name, flags) else { throw AvahiError(missing: name) }
            unsafe self.handle = handle
            self.name = name
        }

        func function<Function>(_ symbol: String) throws(AvahiError) -> Function {
            guard let address = unsafe dlsym(handle, symbol) else {
                throw AvahiError(missing: "\(name) with \(symbol)")
            }
            return unsafe unsafeBitCast(address, to: Function.self)
        }
    }
}
