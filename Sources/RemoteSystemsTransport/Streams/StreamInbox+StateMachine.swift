// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The rules of a stream's unread bytes: what a reader receives, when it waits, and when the network may be read again.
///
/// A value type without I/O. ``StreamInbox`` guards it with a lock.
struct StreamInboxStateMachine {
    private enum End {
        /// The peer may send more bytes.
        case open
        /// The peer has sent its last byte.
        case finished
        case failed(StreamError)
    }

    /// The number of unread bytes at which the network is no longer read.
    var limit: Int
    private var chunks = CircularBuffer<ByteBuffer>()
    private var end = End.open
    private(set) var bufferedBytes = 0
    /// The reader that waits for bytes or for the end.
    private(set) var waitingReader: UInt64?
    /// Whether the network is not read until there is space.
    private var isHoldingNetwork = false
    /// The bytes of the current read of the network, and the size of the buffer whose slices they are.
    private var read = (bytes: 0, storage: 0)

    init(limit: Int) {
        self.limit = limit
    }

    // MARK: The event loop

    /// Adds received bytes. They are dropped if reading has failed.
    mutating func append(_ bytes: ByteBuffer) {
        guard case .open = self.end else { return }
        self.bufferedBytes += bytes.readableBytes
        self.read.bytes += bytes.readableBytes
        self.read.storage = max(self.read.storage, bytes.storageCapacity)
        // Many small chunks would use more memory than their bytes.
        if let last = self.chunks.last, bytes.readableBytes <= 1 << 10, last.readableBytes <= 15 << 10 {
            var joined = self.chunks.removeLast()
            joined.writeImmutableBuffer(bytes)
            self.chunks.append(joined)
        } else {
            self.chunks.append(bytes)
        }
    }

    /// Ends a read of the network. Its buffer may hold mostly frames that were not appended, and chunks would keep all
    /// of it in memory: they are then copied. The chunks of a buffer that is mostly data share it, however small each
    /// is, so that bulk data is not copied.
    mutating func endRead() {
        let read = self.read
        self.read = (0, 0)
        // With a smaller buffer, not even one byte for each read would keep much: such chunks are joined.
        guard read.storage / 4 > max(read.bytes, 1 << 10) else { return }
        for offset in 0..<self.chunks.count { self.chunks[offset: offset] = self.chunks[offset: offset].compacted }
    }

    /// The peer has sent its last byte.
    mutating func finish() {
        guard case .open = self.end else { return }
        self.end = .finished
    }

    /// Fails the reader: after the unread bytes, or at once if they are dropped.
    mutating func fail(_ error: StreamError, dropsUnread: Bool) {
        if dropsUnread {
            self.chunks.removeAll()
            self.bufferedBytes = 0
        } else if case .finished = self.end {
            // Everything has arrived.
            return
        }
        if case .failed = self.end { return }
        self.end = .failed(error)
    }

    /// Removes the reader that waits, if there is something for it.
    mutating func readerToResume() -> UInt64? {
        if self.chunks.isEmpty, case .open = self.end { return nil }
        return self.waitingReader.take()
    }

    /// Reports that the network can be read.
    ///
    /// - Returns: whether the unread bytes reach the limit. The take that makes space then reports it once.
    mutating func holdsNetwork() -> Bool {
        if self.bufferedBytes >= self.limit { self.isHoldingNetwork = true }
        return self.isHoldingNetwork
    }

    var isEmpty: Bool { self.chunks.isEmpty }

    // MARK: The reader

    /// The result of taking bytes.
    enum Take {
        /// Chunks in the order in which they arrived, at least one.
        case chunks([ByteBuffer], makesSpace: Bool)
        case end
        case wait
        case failed(StreamError)
        /// Another task waits for bytes.
        case alreadyReading
    }

    /// Takes the oldest chunk, and those after it that do not exceed a number of bytes together with it.
    mutating func take(upTo bytes: Int) -> Take {
        guard self.waitingReader == nil else { return .alreadyReading }
        guard let first = self.chunks.popFirst() else {
            switch self.end {
            case .open: return .wait
            case .finished: return .end
            case .failed(let error): return .failed(error)
            }
        }
        var taken = [first]
        var count = first.readableBytes
        while let next = self.chunks.first, count + next.readableBytes <= bytes {
            self.chunks.removeFirst()
            taken.append(next)
            count += next.readableBytes
        }
        self.bufferedBytes -= count
        guard self.isHoldingNetwork, self.bufferedBytes <= self.limit / 2 else {
            return .chunks(taken, makesSpace: false)
        }
        self.isHoldingNetwork = false
        return .chunks(taken, makesSpace: true)
    }

    /// Lets a reader wait.
    ///
    /// - Returns: whether it waits. If not, ``take(upTo:)`` has a result.
    mutating func wait(_ reader: UInt64) -> Bool {
        guard self.chunks.isEmpty, case .open = self.end, self.waitingReader == nil else { return false }
        self.waitingReader = reader
        return true
    }

    /// Removes a reader that waits.
    ///
    /// - Returns: whether it was waiting.
    mutating func cancel(_ reader: UInt64) -> Bool {
        guard self.waitingReader == reader else { return false }
        self.waitingReader = nil
        return true
    }
}

extension ByteBuffer {
    /// A copy of the readable bytes if they fill less than a quarter of the storage, which the buffer keeps in memory.
    var compacted: ByteBuffer {
        guard self.readableBytes < self.storageCapacity / 4 else { return self }
        var copy = ByteBuffer()
        copy.reserveCapacity(self.readableBytes)
        copy.writeImmutableBuffer(self)
        return copy
    }
}
