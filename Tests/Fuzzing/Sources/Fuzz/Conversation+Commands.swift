// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOEmbedded
import NIOSSL
import ValueSets

@testable import RemoteSystemsTransport

/// The commands of an input.
extension Conversation {
    func perform(_ command: Command) {
        switch command.kind % 16 {
        case 0: self.receive(command.payload)
        case 1: for byte in command.payload.prefix(64) { self.receive([byte]) }
        case 2, 3: self.receive(Self.framed(command.payload))
        case 4: self.endRead()
        case 5: self.loop.advanceTime(by: Self.steps[Int(command.argument) % Self.steps.count])
        case 6: self.setWritable(command.argument.isMultiple(of: 2))
        case 7:
            self.decideAdmission()
            self.resumeHandler(Int(command.argument))
        case 8: if self.stream == nil { self.call(command) } else { self.write(command) }
        case 9: if self.stream == nil { self.cancelTask(command.argument) } else { self.read() }
        case 10: self.stream == nil ? self.endConnection(command.argument) : self.endStream(command.argument)
        case 11: self.commit(command)
        case 12: self.follow()
        case 13: self.endByPeer(command.argument)
        case 14 where self.settings.kind == .handshake:
            switch command.argument % 4 {
            case 0: self.refuseAuthorisation()
            case 1: self.authorise(alpn: "h2")
            default: self.authorise(alpn: ProtocolVersion.alpn)
            }
        case 14: self.cancelTask(command.argument)
        default: self.loop.run()
        }
    }

    private static let steps: [TimeAmount] = [
        .milliseconds(1), .milliseconds(100), .seconds(1), .seconds(5), .seconds(6), .seconds(15), .minutes(6),
        .hours(25),
    ]

    private static func framed(_ payload: [UInt8]) -> [UInt8] {
        let count = UInt32(payload.count)
        return (0..<4).map { UInt8(truncatingIfNeeded: count >> UInt32(24 - 8 * $0)) } + payload
    }

    // MARK: The peer

    /// Delivers bytes of the peer in one read, as soon as the handlers allow it.
    func receive(_ bytes: [UInt8]) {
        guard !bytes.isEmpty, self.channel.isActive else { return }
        self.peer.pending.append(bytes)
        self.deliver()
    }

    private func deliver() {
        while let bytes = self.peer.pending.first, self.channel.isActive {
            if !self.gate.mayRead { self.channel.pipeline.read() }
            guard self.gate.mayRead else { return }
            self.gate.mayRead = false
            self.peer.pending.removeFirst()
            self.peer.sent(bytes)
            self.channel.pipeline.fireChannelRead(ByteBuffer(bytes: bytes))
            if self.settings.endsReads { self.endRead() }
        }
    }

    private func endRead() {
        if self.channel.isActive { self.channel.pipeline.fireChannelReadComplete() }
        self.loop.run()
    }

    private func setWritable(_ isWritable: Bool) {
        guard self.channel.isActive, self.channel.isWritable != isWritable else { return }
        self.channel.isWritable = isWritable
        self.channel.pipeline.fireChannelWritabilityChanged()
    }

    private func endByPeer(_ argument: UInt8) {
        guard self.channel.isActive else { return }
        switch argument % 4 {
        case 0: self.channel.close(promise: nil)
        case 1: self.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        case 2: self.channel.pipeline.fireErrorCaught(NIOSSLError.uncleanShutdown)
        default: self.channel.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
        }
        // The peer's end of the connection always ends the channel.
        if self.channel.isActive { self.channel.close(promise: nil) }
        self.loop.run()
    }

    // MARK: This side

    /// Runs a task on the event loop.
    private func start(_ body: @escaping @Sendable () async -> Void) {
        self.openTasks += 1
        let task = Task.immediate(executorPreference: self.loop.taskExecutor) {
            await body()
            self.openTasks -= 1
        }
        self.tasks.append(task)
    }

    private func cancelTask(_ number: UInt8) {
        guard !self.tasks.isEmpty else { return }
        // The bytes of a cancelled write may be missing.
        self.monitor.knowsBytes = false
        self.tasks[Int(number) % self.tasks.count].cancel()
        self.loop.run()
    }

    private func call(_ command: Command) {
        guard let connection = self.connection else { return }
        let size = command.payload.count > 1 ? Int(command.payload[0]) << 8 | Int(command.payload[1]) : 0
        let message: ValueSet = ["bytes": Value([UInt8](repeating: 1, count: size))]
        let timeout = Self.steps[Int(command.argument) % Self.steps.count]
        self.start {
            _ = try? await connection.send(
                message,
                timeout: timeout,
                key: command.argument & 0x40 == 0 ? nil : [1, 2, 3],
                metadata: command.argument & 0x80 == 0 ? [:] : ["traceparent": "00"]
            )
        }
    }

    func follow() {
        guard let connection = self.connection else { return }
        let subscriber = StateSubscriber(.notes, budget: StateBudget(), window: StateLimits.minCredit)
        self.start { _ = try? await subscriber.follow(over: connection) { _ in } }
    }

    private func commit(_ command: Command) {
        let record: ValueSet =
            command.argument.isMultiple(of: 2)
            ? ["text": .string(String(decoding: command.payload.prefix(64), as: UTF8.self))]
            : ["bytes": Value([UInt8](repeating: 0, count: 40 * command.payload.count))]
        let key: StateKey = command.argument.isMultiple(of: 2) ? "note/\(command.argument)" : "blob/\(command.argument)"
        try? self.topic?.commit(put: [key: record])
        self.loop.run()
    }

    private func endConnection(_ argument: UInt8) {
        guard let connection = self.connection else { return }
        switch argument % 6 {
        case 0: self.start { await connection.close() }
        case 1: connection.leave()
        case 2: connection.abort()
        case 3: connection.probe(within: .seconds(1))
        case 4: connection.update(deadPeerTime: .seconds(Int64(argument)))
        default: self.start { await connection.close(.resourceLimitsExceeded) }
        }
        self.loop.run()
    }

    // MARK: Streams

    private func write(_ command: Command) {
        guard let stream = self.stream else { return }
        let count = (Int(command.argument) << 8 | command.payload.count) + 1
        let buffer = ByteBuffer(bytes: (0..<count).map { UInt8(truncatingIfNeeded: self.monitor.writtenBytes + $0) })
        self.monitor.writtenBytes += count
        self.start { try? await stream.write(buffer) }
    }

    private func read() {
        // An earlier reader may have its bytes, and not have run since.
        self.loop.run()
        guard let stream = self.stream else { return }
        self.start {
            do {
                if let chunk = try await stream.read() {
                    self.peer.delivered(chunk)
                } else {
                    self.peer.deliveredEnd()
                }
            } catch {}
        }
        self.deliver()
    }

    private func endStream(_ argument: UInt8) {
        guard let stream = self.stream else { return }
        switch argument % 6 {
        case 0: self.start { try? await stream.finish() }
        case 1: stream.abort()
        case 2: if let connection = self.weakStream { self.start { await connection.close(.completed) } }
        case 3: self.start { try? await stream.waitUntilFinished() }
        case 4: self.cancelTask(argument / 6)
        default: self.stream = nil
        }
        self.loop.run()
    }
}
