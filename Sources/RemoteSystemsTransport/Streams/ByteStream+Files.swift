// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore

/// Files are read and written on NIO's thread pool instead of the event loop or Swift's task threads, at most 512 KiB
/// at a time (``StreamFile``). The code between these calls runs on the stream's event loop, so a chunk needs no other
/// change of thread.
extension ByteStream {
    private static var fileChunkBytes: Int { 256 << 10 }

    /// Sends a file's content, up to the end that is found while reading. The caller may write more afterwards, and
    /// calls ``finish()`` at the end.
    ///
    /// The next chunk is read while a chunk is sent. At most two chunks are in memory.
    ///
    /// - Returns: the number of bytes sent.
    /// - Throws: ``StreamError``, with ``StreamError/Code/fileFailed`` when the file cannot be read;
    ///   `CancellationError`. The stream is aborted in each case.
    @discardableResult
    package func send(contentsOf path: String) async throws -> Int64 {
        do {
            return try await withTaskExecutorPreference(self.taskExecutor) { try await self.sendChunks(of: path) }
        } catch {
            throw self.giveUp(error, reading: path)
        }
    }

    /// Stores the bytes that the other side sends, until it finishes, in a file. The file appears under its name when
    /// it is complete, and replaces an existing file. The directory must exist.
    ///
    /// - Parameter max: the maximum number of bytes. Defaults to none.
    /// - Returns: the number of bytes received.
    /// - Throws: ``StreamError``, with ``StreamError/Code/storageFull`` when the file system is full, with
    ///   ``StreamError/Code/fileFailed`` when the file cannot be written, with ``StreamError/Code/truncated`` when the
    ///   stream ended before its last byte, with ``StreamError/Code/aborted`` when it has more bytes than `max`;
    ///   `CancellationError`. In each case no file is left, and the stream is aborted.
    @discardableResult
    package func receive(
        into path: String,
        max: Int64 = .max,
        progress: (@Sendable (_ received: Int64) -> Void)? = nil
    ) async throws -> Int64 {
        let part = "\(path).\(UInt32.random(in: 0 ... .max)).part"
        do {
            let count = try await withTaskExecutorPreference(self.taskExecutor) {
                try await self.store(in: part, max: max, progress: progress)
            }
            try await StreamFile.rename(part, to: path)
            return count
        } catch {
            StreamFile.remove(part)
            throw self.giveUp(error, writing: path)
        }
    }

    /// `@concurrent`, so that it runs on the event loop even if the caller is isolated to an actor.
    @concurrent
    private func sendChunks(of path: String) async throws -> Int64 {
        let file = try await StreamFile.open(path, O_RDONLY)
        defer { file.close() }
        var offset: Int64 = 0
        var next = file.read(Self.fileChunkBytes, at: 0, on: self.eventLoop)
        while case let bytes = try await next.get(), bytes.readableBytes > 0 {
            offset += Int64(bytes.readableBytes)
            next = file.read(Self.fileChunkBytes, at: offset, on: self.eventLoop)
            do {
                try await self.write(bytes)
            } catch {
                // The file must not be closed during a read.
                _ = try? await next.get()
                throw error
            }
        }
        return offset
    }

    @concurrent
    func store(
        in path: String,
        _ flags: CInt = O_CREAT | O_EXCL,
        max: Int64 = .max,
        progress: (@Sendable (_ received: Int64) -> Void)? = nil
    ) async throws -> Int64 {
        let file = try await StreamFile.open(path, O_WRONLY | flags)
        defer { file.close() }
        var count: Int64 = 0
        while let chunks = try await self.readChunks() {
            let received = chunks.reduce(count) { $0 + Int64($1.readableBytes) }
            guard received <= max else {
                self.abort(WireFailure("The receiving system takes at most \(max) bytes.", code: .streamCancelled))
                throw StreamError(.aborted, "The other side sent more than \(max) bytes.", side: .local)
            }
            progress?(received)
            count += try await file.write(chunks)
        }
        return count
    }

    // MARK: Failing

    private func giveUp(_ error: any Error, reading path: String) -> any Error {
        guard let error = error as? IOError else { return self.giveUp(error) }
        self.abort(WireFailure("The other side could not read the bytes to send.", code: .streamSourceFailed))
        return StreamError(
            .fileFailed,
            "The file \(path) could not be sent: \(Self.text(error)).",
            side: .local,
            failureCode: FailureCode.streamSourceFailed.rawValue,
            cause: error
        )
    }

    func giveUp(_ error: any Error, writing path: String) -> any Error {
        guard let error = error as? IOError else { return self.giveUp(error) }
        let isFull = error.errnoCode == ENOSPC || error.errnoCode == EDQUOT
        let code = isFull ? FailureCode.streamStorageFull : .streamStorageFailed
        self.abort(
            WireFailure(
                isFull
                    ? "The receiving system has no space left to store the bytes."
                    : "The receiving system could not store the bytes.",
                code: code
            )
        )
        return StreamError(
            isFull ? .storageFull : .fileFailed,
            isFull
                ? "The file \(path) could not be received: the file system is full. Free some space, then try again."
                : "The file \(path) could not be received: \(Self.text(error)).",
            side: .local,
            canRetry: isFull,
            failureCode: code.rawValue,
            cause: error
        )
    }

    /// Aborts the stream after an error of the stream itself or a cancellation.
    private func giveUp(_ error: any Error) -> any Error {
        self.abort(.streamCancelled)
        return error
    }

    private static func text(_ error: IOError) -> String {
        unsafe String(cString: strerror(error.errnoCode))
    }
}
