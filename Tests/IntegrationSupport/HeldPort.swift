// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A port of the loopback interface without a listener, reserved until this object is released.
///
/// The kernel assigns it to no program that asks for any free port. A program that asks for this port gets it
/// (SO_REUSEADDR on both sides), unless it is blocked.
package final class HeldPort: Sendable {
    package let number: Int
    private let descriptor: Int32

    package init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var isShared: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        let isSet = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, size) == 0
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        self.descriptor = descriptor
        number = Int(UInt16(bigEndian: address.sin_port))
        guard isSet, isBound else { throw IntegrationError("no port is free: error \(errno)") }
    }

    deinit { close(descriptor) }

    /// Listens on the port, so that no other program can.
    package func block() { listen(descriptor, 1) }
}
