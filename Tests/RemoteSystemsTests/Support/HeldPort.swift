// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// A port of loopback on which nobody listens: no other test is given it for as long as this is held. A host that is
/// told to listen there can all the same (`SO_REUSEADDR` on both sides).
final class HeldPort: Sendable {
    let number: Int
    private let descriptor: Int32

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var isShared: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        let isSet = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, size) == 0
        try #require(isSet)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isBound)
        self.number = Int(UInt16(bigEndian: address.sin_port))
        self.descriptor = descriptor
    }

    deinit {
        close(self.descriptor)
    }
}
