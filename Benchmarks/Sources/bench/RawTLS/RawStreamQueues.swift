// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Synchronization

/// The part of a ``RawStream`` that the event loop sends next.
final class RawOutbox: Sendable {
    private struct Waiting {
        var part: RawPart
        var writer: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var next: Waiting?
        /// Whether the event loop takes the next part without being woken.
        var isTaking = false
        var error: (any Error)?
    }

    private let state = Mutex(State())

    /// Adds a part, whose writer waits until the event loop takes it. Returns whether the event loop has to be woken.
    func put(_ part: RawPart, _ writer: CheckedContinuation<Void, any Error>) -> Bool {
        let (error, wakes) = state.withLock { state -> ((any Error)?, Bool) in
            if let error = state.error { return (error, false) }
            let wakes = !state.isTaking
            state.next = Waiting(part: part, writer: writer)
            state.isTaking = true
            return (nil, wakes)
        }
        if let error { writer.resume(throwing: error) }
        return wakes
    }

    func take() -> RawPart? {
        let next = state.withLock { state -> Waiting? in
            let next = state.next.take()
            if next == nil { state.isTaking = false }
            return next
        }
        next?.writer.resume()
        return next?.part
    }

    func fail(_ error: any Error) {
        let next = state.withLock { state -> Waiting? in
            state.error = state.error ?? error
            return state.next.take()
        }
        next?.writer.resume(throwing: error)
    }
}

/// The bytes of a ``RawStream`` that have arrived and were not read yet. Its reader takes all of them as one array.
///
/// The event loop copies them: TLS decrypts into the same memory again and again, which is then in the cache. If the
/// reader kept that memory, TLS would allocate and copy it for each read of the network.
final class RawInbox: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var reader: CheckedContinuation<Void, Never>?
        /// Whether the network is not read until a reader takes the bytes.
        var holdsNetwork = false
        /// The reason why nothing more arrives.
        var end: (any Error)?

        var isReady: Bool { !bytes.isEmpty || end != nil }
    }

    /// The number of unread bytes at which the network is no longer read.
    private static let limit = 256 << 10

    private let state = Mutex(State())

    // MARK: The event loop

    /// Adds received bytes. ``resumeReader()`` follows when all bytes of one read of the network were added.
    func append(_ buffer: ByteBuffer) {
        state.withLock { state in
            guard !state.bytes.isEmpty else {
                state.bytes = Array(buffer: buffer)
                return
            }
            state.bytes += buffer.readableBytesView
        }
    }

    func end(_ error: any Error) {
        state.withLock { $0.end = $0.end ?? error }
        resumeReader()
    }

    func resumeReader() {
        let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.isReady ? state.reader.take() : nil
        }
        reader?.resume()
    }

    /// Returns whether the network is not read until a reader makes space.
    func holdsNetwork() -> Bool {
        state.withLock { state in
            if state.bytes.count >= Self.limit { state.holdsNetwork = true }
            return state.holdsNetwork
        }
    }

    // MARK: The reader

    /// Waits until bytes have arrived, and takes them all.
    ///
    /// - Returns: the bytes, none if the peer has closed the connection, and whether the network must be read again.
    func take() async throws -> (bytes: [UInt8], makesSpace: Bool) {
        if state.withLock({ !$0.isReady }) {
            await withCheckedContinuation { (reader: CheckedContinuation<Void, Never>) in wait(reader) }
        }
        let (bytes, makesSpace, end) = state.withLock { state -> ([UInt8], Bool, (any Error)?) in
            defer {
                state.bytes = []
                state.holdsNetwork = false
            }
            return (state.bytes, state.holdsNetwork, state.end)
        }
        if bytes.isEmpty, let end, (end as? ChannelError) != .eof { throw end }
        return (bytes, makesSpace)
    }

    private func wait(_ reader: CheckedContinuation<Void, Never>) {
        let isReady = state.withLock { state -> Bool in
            if !state.isReady { state.reader = reader }
            return state.isReady
        }
        if isReady { reader.resume() }
    }
}
