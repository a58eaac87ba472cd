// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import RemoteSystemsIdentity

/// A Unix socket in a directory that only its user can access.
struct LocalSocket: Sendable {
    let directory: String
    let name: String

    /// The maximum length of a socket's path in bytes, without the terminating zero (`sun_path`, unix(7)).
    private static let pathBytes = 107

    /// A failed system call.
    struct Failure: Error, CustomStringConvertible {
        var call: String
        var number: CInt

        init(_ call: String, _ number: CInt = errno) {
            self.call = call
            self.number = number
        }

        var description: String { "\(self.call): \(unsafe String(cString: strerror(self.number)))" }
    }

    /// A listening socket. The lock shows other programs that it is in use.
    struct Listening {
        var descriptor: CInt
        var lock: CInt
    }

    /// Connects, and checks that the program which listens belongs to this user.
    ///
    /// - Returns: the connected socket, non-blocking, and its peer.
    func connect() throws(Failure) -> (descriptor: CInt, peer: LocalPeer) {
        let place = try self.openDirectory()
        defer { close(place) }
        return try Self.connect(to: self.address(of: self.name, in: place))
    }

    /// Connects in the same way to a socket that was opened with `O_PATH`. The directory of the socket may be hidden
    /// from this process.
    static func connect(opened descriptor: CInt) throws(Failure) -> (descriptor: CInt, peer: LocalPeer) {
        try self.connect(to: "/proc/self/fd/\(descriptor)")
    }

    private static func connect(to path: String) throws(Failure) -> (descriptor: CInt, peer: LocalPeer) {
        let descriptor = try Self.makeSocket()
        do throws(Failure) {
            try unsafe Self.withAddress(path) { address, size throws(Failure) in
                guard unsafe Glibc.connect(descriptor, address, size) == 0 else { throw Failure("connect") }
            }
            let peer = try LocalPeer(descriptor: descriptor)
            try peer.check()
            return (descriptor, peer)
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Listens in place of a program that has ended. Fails with `EADDRINUSE` while another program listens.
    func listen() throws(Failure) -> Listening {
        let place = try self.openDirectory()
        defer { close(place) }
        let lock = unsafe openat(place, "\(self.name).lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw Failure("open") }
        do throws(Failure) {
            guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
                throw Failure("flock", errno == EWOULDBLOCK ? EADDRINUSE : errno)
            }
            return Listening(descriptor: try self.bind(in: place), lock: lock)
        } catch {
            close(lock)
            throw error
        }
    }

    /// Binds under another name first, so that the socket appears at its name only when it accepts connections.
    private func bind(in place: CInt) throws(Failure) -> CInt {
        let new = ".\(self.name)"
        let descriptor = try Self.makeSocket()
        do throws(Failure) {
            // Removes a file that a program left behind when it ended before it renamed the socket.
            _ = unsafe unlinkat(place, new, 0)
            try unsafe Self.withAddress(self.address(of: new, in: place)) { address, size throws(Failure) in
                guard unsafe Glibc.bind(descriptor, address, size) == 0 else { throw Failure("bind") }
            }
            guard unsafe fchmodat(place, new, 0o600, 0) == 0 else { throw Failure("chmod") }
            guard Glibc.listen(descriptor, 256) == 0 else { throw Failure("listen") }
            guard unsafe renameat(place, new, place, self.name) == 0 else { throw Failure("rename") }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Removes the socket before the lock is released, so that it is never another program's.
    func end(_ lock: CInt) {
        if let place = try? self.openDirectory() {
            _ = unsafe unlinkat(place, self.name, 0)
            close(place)
        }
        close(lock)
    }

    /// Opens the directory if it belongs to this user and no other user can access it.
    private func openDirectory() throws(Failure) -> CInt {
        let place = unsafe open(self.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard place >= 0 else { throw Failure("open") }
        guard let status = FileStatus(descriptor: place), status.isOwn, status.isPrivate else {
            close(place)
            throw Failure("open", EPERM)
        }
        return place
    }

    /// A path that fits into a socket's address. A long one is replaced by the path of the open directory.
    private func address(of name: String, in place: CInt) -> String {
        let path = "\(self.directory)/\(name)"
        return path.utf8.count <= Self.pathBytes ? path : "/proc/self/fd/\(place)/\(name)"
    }

    private static func makeSocket() throws(Failure) -> CInt {
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw Failure("socket") }
        return descriptor
    }

    private static func withAddress(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Void
    ) throws(Failure) {
        guard path.utf8.count <= Self.pathBytes else { throw Failure("bind", ENAMETOOLONG) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        try unsafe withUnsafePointer(to: &address) { pointer throws(Failure) in
            try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address throws(Failure) in
                try unsafe body(address, size)
            }
        }
    }
}

/// The program at the other end of a Unix socket, as the kernel reports it (`SO_PEERCRED`, unix(7)).
struct LocalPeer: Sendable, Hashable {
    /// The process id; 0 for a process that is not visible in this process's namespace.
    var pid: CInt
    var user: UInt32
    // The layout of this structure is that of `struct ucred`.
    private var group: UInt32 = 0

    init(pid: CInt, user: UInt32) {
        self.pid = pid
        self.user = user
    }

    init(descriptor: CInt) throws(LocalSocket.Failure) {
        self.init(pid: 0, user: 0)
        var size = socklen_t(MemoryLayout<LocalPeer>.size)
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &self, &size) == 0 else {
            throw LocalSocket.Failure("getsockopt")
        }
    }

    /// Returns the program at the other end of a channel's Unix socket. The future is complete when this is called on
    /// the event loop.
    static func of(_ channel: any Channel) -> EventLoopFuture<LocalPeer> {
        guard let options = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(LocalSocket.Failure("getsockopt", ENOTSOCK))
        }
        return options.unsafeGetSocketOption(level: SocketOptionLevel(SOL_SOCKET), name: SocketOptionName(SO_PEERCRED))
    }

    /// Checks that the program belongs to a user, by default the effective user of this process.
    ///
    /// - Throws: an error with `EPERM` if the program belongs to another user.
    func check(user: UInt32 = geteuid()) throws(LocalSocket.Failure) {
        guard self.user == user else { throw LocalSocket.Failure("accept", EPERM) }
    }

    /// The key that identifies the program in limits: each program has its own. A program cannot choose its process id
    /// freely.
    var key: PeerKey {
        PeerKey(
            transport: .local,
            [self.user, UInt32(bitPattern: self.pid)].flatMap { word in
                (0..<4).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
            }
        )
    }
}

/// Keeps the peer of a Unix socket's channel in its pipeline.
final class LocalPeerHandler: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    let peer: LocalPeer

    init(_ peer: LocalPeer) { self.peer = peer }
}
