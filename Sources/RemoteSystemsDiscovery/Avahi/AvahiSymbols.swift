// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsAvahi
import Glibc

/// The one symbol that both of Avahi's libraries define: `avahi_entry_group_free`, with one argument in libavahi-client and with two
/// in libavahi-core, where it is meant to be internal.
///
/// In a process with both, the dynamic linker gives everybody the one that comes first. libavahi-core calls its own by that name
/// and must get it, so it is linked first. Then the other is to be had by asking libavahi-client itself, and libavahi-client must
/// never get to call it: it would only for groups that are left when a client is freed, and we leave none.
enum AvahiSymbols {
    private typealias FreeGroup = @convention(c) (OpaquePointer) -> Int32

    private static let name = "avahi_entry_group_free"
    private static let clientLibrary = "libavahi-client.so.3"
    private static let coreLibrary = "libavahi-core.so.7"

    private static let freeClientGroup: FreeGroup? = {
        guard let address = address(in: clientLibrary) else { return nil }
        return unsafe unsafeBitCast(UnsafeRawPointer(bitPattern: address), to: FreeGroup?.self)
    }()

    /// Frees a group of libavahi-client.
    static func freeClientGroup(_ group: OpaquePointer) {
        unsafe _ = freeClientGroup?(group)
    }

    /// Whether groups of libavahi-client can be freed; they must not be made otherwise.
    static var canUseClient: Bool { unsafe freeClientGroup != nil }

    /// Whether libavahi-core gets its own function. Not so in a program that itself links libavahi-client before this library.
    static let canUseCore: Bool = {
        guard let own = address(in: coreLibrary) else { return false }
        return address(in: nil) == own
    }()

    /// - Parameter library: The library to look in; nil to look where everybody looks.
    private static func address(in library: String?) -> UInt? {
        // Loaded already, and for good: the handle need not be closed.
        guard let handle = unsafe dlopen(library, RTLD_LAZY) else { return nil }
        return unsafe dlsym(handle, name).map { UInt(bitPattern: $0) }
    }
}
