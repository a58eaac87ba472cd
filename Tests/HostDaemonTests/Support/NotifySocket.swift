// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Synchronization

/// The socket of a service manager, which receives a service's notifications (sd_notify(3)).
final class NotifySocket: Sendable {
    let path: String
    private let descriptor: Int32
    private let received = Mutex<[String]>([])

    init(path: String) throws {
        self.path = path
        self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let bound = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0 else { throw IntegrationError("cannot bind \(path): error \(errno)") }
    }

    deinit { close(self.descriptor) }

    /// All notifications so far, one element for each line.
    var lines: [String] {
        self.received.withLock { received in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while case let count = unsafe recv(self.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)),
                count > 0
            {
                received += String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
            }
            return received
        }
    }

    func line(_ what: String, where fits: (String) -> Bool) async throws -> String {
        try await eventually(what, within: .seconds(30)) { self.lines.first(where: fits) }
    }
}
