// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOPosix

/// The part of the machine's network on which connections are opened and accepted.
package enum NetworkReach: Sendable, Hashable {
    /// Every interface.
    case all
    /// This machine only. Nothing is sent to the network.
    case machine
    /// The interfaces with these names, and loopback. An interface that appears later is used from then on.
    case interfaces([String])

    /// The loopback interface's name on Linux.
    static let loopback = "lo"

    /// Checks whether a connection to a host may be attempted, before its name is resolved.
    ///
    /// - Parameter host: an address or a name.
    /// - Throws: ``TransportError`` with ``TransportError/Code/outOfReach`` if only this machine may be reached and
    ///   `host` is another one.
    package func check(host: String) throws(TransportError) {
        guard case .machine = self, host != "localhost" else { return }
        // Resolving a name uses the network, so `localhost` is the only name that is allowed.
        let literal = String(host.prefix { $0 != "%" })
        guard let address = try? SocketAddress(ipAddress: literal, port: 0), OwnAddresses.contains(address) else {
            throw TransportError(
                .outOfReach,
                "\(host) is not an address of this machine, and only connections to this machine are allowed.",
                side: .local
            )
        }
    }

    /// The host to connect to, in a form that needs no name resolution over the network.
    func literal(for host: String) -> String {
        self == .machine && host == "localhost" ? "127.0.0.1" : host
    }
}

/// The addresses with which this machine reaches itself.
enum OwnAddresses {
    static func contains(_ address: SocketAddress) -> Bool {
        guard let text = address.ipAddress else { return false }
        return self.isLoopback(address)
            || ((try? System.enumerateDevices()) ?? []).contains {
                $0.address?.ipAddress == text
            }
    }

    /// Whether the address is in 127.0.0.0/8, also when mapped to IPv6, or is `::1`.
    static func isLoopback(_ address: SocketAddress) -> Bool {
        switch address {
        case .v4, .v6:
            let text = address.ipAddress ?? ""
            return text == "::1" || text.hasPrefix("127.") || text.hasPrefix("::ffff:127.")
        case .unixDomainSocket: return false
        }
    }
}

/// Restricts a connection to the allowed interfaces: binds its socket to one of them as soon as the address is known.
///
/// This requires no privileges since Linux 5.7. If several interfaces are allowed, the machine's routes decide; if they
/// lead through none of them, the first existing interface is used.
final class InterfaceBinding: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = Never

    private let names: [String]

    init(names: [String]) {
        self.names = names
    }

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        do {
            if let index = try self.interface(towards: address) {
                try context.channel.syncOptions?.setOption(.socketOption(.bindsToInterface), value: Int(index))
            }
        } catch {
            promise?.fail(error)
            return
        }
        context.connect(to: address, promise: promise)
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// The interface to bind to; `nil` for addresses of this machine.
    private func interface(towards address: SocketAddress) throws -> CInt? {
        guard !OwnAddresses.contains(address) else { return nil }
        let usable = self.names.compactMap(InterfaceIndex.of)
        guard let first = usable.first else {
            let names = self.names.joined(separator: ", ")
            throw TransportError(
                .unreachable,
                "This machine has no interface \(names) now, and no other may be used.",
                side: .local,
                canRetry: true
            )
        }
        guard let used = InterfaceIndex.routed(to: address), usable.contains(used) else { return first }
        return used
    }
}

/// Interfaces by their index. An interface that is removed and added again gets another index.
enum InterfaceIndex {
    static func of(_ name: String) -> CInt? {
        let index = unsafe if_nametoindex(name)
        return index == 0 ? nil : CInt(bitPattern: index)
    }

    /// The interface to which the machine's routes lead for an address. Nothing is sent: a datagram socket is connected
    /// and closed.
    static func routed(to address: SocketAddress) -> CInt? {
        if let zone = Self.zone(of: address) { return zone }
        let family = if case .v6 = address { AF_INET6 } else { AF_INET }
        let descriptor = socket(family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard unsafe address.withSockAddr({ unsafe Glibc.connect(descriptor, $0, socklen_t($1)) }) == 0,
            let source = Self.localAddress(of: descriptor)?.ipAddress
        else { return nil }
        return ((try? System.enumerateDevices()) ?? []).first { $0.address?.ipAddress == source }
            .map { CInt($0.interfaceIndex) }
    }

    /// The interface in the zone of a link-local IPv6 address.
    private static func zone(of address: SocketAddress) -> CInt? {
        guard case .v6 = address else { return nil }
        return unsafe address.withSockAddr { pointer, size in
            // `sin6_scope_id` is the last field of the structure.
            let offset = MemoryLayout<sockaddr_in6>.size - MemoryLayout<UInt32>.size
            guard size >= offset + MemoryLayout<UInt32>.size else { return nil }
            let zone = unsafe UnsafeRawPointer(pointer).loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            return zone == 0 ? nil : CInt(bitPattern: zone)
        }
    }

    /// Whether a socket is reachable from this machine only.
    static func isOnLoopback(_ descriptor: CInt) -> Bool {
        Self.localAddress(of: descriptor).map(OwnAddresses.isLoopback) ?? false
            || Self.bound(descriptor) == Self.of(NetworkReach.loopback)
    }

    /// The index of the interface that a socket is bound to; `nil` if it is bound to none.
    static func bound(_ descriptor: CInt) -> CInt? {
        var index: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        let option = NIOBSDSocket.Option.bindsToInterface.rawValue
        guard unsafe getsockopt(descriptor, SOL_SOCKET, option, &index, &length) == 0, index > 0 else { return nil }
        return index
    }

    private static func localAddress(of descriptor: CInt) -> SocketAddress? {
        var storage = sockaddr_storage()
        return unsafe withUnsafeMutablePointer(to: &storage) { storage in
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let isKnown = unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length) == 0
            }
            guard isKnown else { return nil }
            switch Int32(unsafe storage.pointee.ss_family) {
            case AF_INET:
                return unsafe storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    unsafe SocketAddress($0.pointee)
                }
            case AF_INET6:
                return unsafe storage.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    unsafe SocketAddress($0.pointee)
                }
            default: return nil
            }
        }
    }
}

extension NIOBSDSocket.Option {
    /// SO_BINDTOIFINDEX: the index of the only interface on which a socket sends and receives.
    static let bindsToInterface = NIOBSDSocket.Option(rawValue: 62)
}

/// A listening socket that another process created.
enum ListeningSocket {
    /// Checks that a listening socket accepts connections only from within the reach.
    ///
    /// - Throws: ``TransportError`` with ``TransportError/Code/cannotListen`` if the socket accepts connections from
    ///   outside the reach.
    static func check(_ descriptor: CInt, within reach: NetworkReach) throws(TransportError) {
        let setting: String
        switch reach {
        case .all: return
        case .machine:
            if InterfaceIndex.isOnLoopback(descriptor) { return }
            setting = "'ListenStream=127.0.0.1:PORT'"
        case .interfaces(let names):
            if InterfaceIndex.isOnLoopback(descriptor) { return }
            if let bound = InterfaceIndex.bound(descriptor), names.compactMap(InterfaceIndex.of).contains(bound) {
                return
            }
            setting = "'BindToDevice=\(names.first ?? "NAME")'"
        }
        throw TransportError(
            .cannotListen,
            "The socket that was handed over accepts connections from more of the network than is allowed. Write "
                + "\(setting) into its socket unit, or allow the whole network here.",
            side: .local
        )
    }
}
