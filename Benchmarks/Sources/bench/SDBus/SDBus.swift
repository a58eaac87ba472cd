// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CBusPeer
import Dispatch
import Glibc
import Measuring

/// A method call from one process to another through a private D-Bus daemon, with sd-bus on both sides.
struct SDBus: Contestant {
    func serve(_ setup: Setup) throws -> any Server {
        try SDBusServer()
    }

    func caller(_ setup: Setup) async throws -> any Caller {
        SDBusCaller(address: setup.address)
    }
}

/// A bus daemon and a service on it, which responds on its own thread.
private struct SDBusServer: Server {
    let address: String
    private let daemon: ChildProcess

    var companions: [Int32] { [daemon.pid] }

    init() throws {
        // An abstract socket leaves nothing in the file system.
        let name = UInt64.random(in: .min ... .max)
        daemon = try ChildProcess(
            ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"]
                + ["--address=unix:abstract=remote-systems-bench-\(name)"],
            // Hides the daemon's warning that it cannot raise its file-descriptor limit, which is not needed here.
            isSilent: true
        )
        address = String(decoding: try daemon.readLine(within: 10), as: UTF8.self)
        let service = try unsafe BusPeer("offering the service") { unsafe bus_service_open(address, &$0) }
        DispatchQueue(label: "sd-bus service").async { _ = unsafe bus_service_run(service.pointer) }
    }
}

private struct SDBusCaller: Caller {
    let address: String

    func open() async throws -> any Line {
        let line = try await SDBusLine(address)
        _ = try await line.exchange(.roundTrip, until: Limit(count: 1, seconds: 10))
        return line
    }
}

/// A line that runs on its own queue, because sd-bus blocks.
private struct SDBusLine: Line {
    private let queue = DispatchQueue(label: "sd-bus caller")
    private let peer: BusPeer

    init(_ address: String) async throws {
        peer = try await queue.run {
            try unsafe BusPeer("connecting") { unsafe bus_caller_open(address, &$0) }
        }
    }

    func exchange(_ load: Load, until limit: Limit) async throws -> Measurement {
        try await queue.run {
            var elapsed: Int64 = 0
            let course = bus_exchange(
                bytes: load.bytes,
                in_flight: load.inFlight,
                echo: load.answer == .echo,
                count: limit.count,
                nanoseconds: limit.nanoseconds
            )
            let times = try unsafe [Int64](unsafeUninitializedCapacity: limit.count) { buffer, initialized in
                let answered = unsafe bus_caller_exchange(peer.pointer, course, buffer.baseAddress, &elapsed)
                try checkBus(Int32(clamping: min(answered, 0)), "calling the service")
                initialized = Int(answered)
            }
            return Measurement(nanoseconds: times, elapsedNanoseconds: elapsed)
        }
    }

    func close() async {
        await queue.run { peer.close() }
    }
}

/// The owner of one sd-bus connection.
///
/// The `Sendable` conformance is unchecked: sd-bus may not be used from two threads at once, and each owner uses its
/// peer on one queue only.
@safe
private final class BusPeer: @unchecked Sendable {
    private(set) var pointer: OpaquePointer?

    init(_ action: String, open: (inout OpaquePointer?) -> Int32) throws {
        var opened: OpaquePointer?
        try checkBus(unsafe open(&opened), action)
        unsafe pointer = opened
    }

    func close() {
        unsafe bus_peer_close(pointer)
        unsafe pointer = nil
    }

    deinit {
        unsafe bus_peer_close(pointer)
    }
}

extension DispatchQueue {
    /// Runs blocking work on the queue instead of Swift's thread pool.
    fileprivate func run<Success: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Success
    ) async throws(Failure) -> Success {
        let result: Result<Success, Failure> = await withCheckedContinuation { continuation in
            async { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}

private func checkBus(_ status: Int32, _ action: String) throws {
    guard status < 0 else { return }
    throw BenchError("D-Bus failed \(action): \(unsafe String(cString: strerror(-status)))")
}
