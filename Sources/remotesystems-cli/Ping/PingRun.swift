// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import Synchronization

/// Sends a series of pings over one connection.
final class PingRun: Sendable {
    private let system: RemoteSystem
    private let name: String
    private let service: String
    private let count: Int
    private let size: Int
    private let interval: Duration
    private let timeToOpen: Duration
    private let timeToAnswer: Duration
    private let output: Output
    private let statistics = Mutex(PingStatistics())

    /// Creates a run of pings. ``run()`` connects.
    ///
    /// - Parameter timeout: The timeout for opening the connection and for each response. Defaults to 15 s and 5 s.
    init(
        system: RemoteSystem,
        service: String,
        count: Int,
        size: Int,
        interval: Duration,
        timeout: Duration?,
        output: Output
    ) {
        self.system = system
        self.name = system.displayName.printable
        self.service = service
        self.count = count
        self.size = size
        self.interval = interval
        self.timeToOpen = timeout ?? .seconds(15)
        self.timeToAnswer = timeout ?? .seconds(5)
        self.output = output
    }

    /// Runs until all pings are sent, the connection ends, or Ctrl-C.
    func run() async throws -> PingStatistics {
        let description = AppServiceDescription(name: self.service, requestSchema: .full, responseSchema: .full)
        _ = try await untilInterrupted {
            try await AppServiceConnection.with(
                description,
                RemoteSystemConnectionRequest(system: self.system),
                openIn: self.timeToOpen
            ) { try await self.exchange($0) }
        }
        return self.statistics.withLock { $0 }
    }

    private func exchange(_ connection: AppServiceConnection) async throws {
        let info = connection.info
        let application = info?.peer.claimedApplicationID ?? ""
        let address = info?.address ?? "?"
        try self.output.json(
            PingStartOutput(name: self.name, address: address, systemID: info?.peer.systemID, size: self.size)
        )
        try self.output.line("PING \(self.name) (\(address)), \(self.size) bytes of data")
        let payload = Data(repeating: 0x61, count: self.size)
        for number in 1...self.count {
            let message: ValueSet = [
                "Type": "ping",
                "CreationDate": .date(.now),
                "TargetId": .string(application),
                "Payload": .data(payload),
            ]
            let started = ContinuousClock.now
            self.statistics.withLock { $0.sent += 1 }
            let response = try await connection.send(message, timeout: self.timeToAnswer)
            let time = ContinuousClock.now - started
            guard try self.report(number, response, time) else { return }
            if number < self.count, self.interval > .zero { try await Task.sleep(for: self.interval) }
        }
    }

    /// Prints a response, and counts it if it is successful.
    ///
    /// - Returns: Whether to send further pings.
    private func report(_ number: Int, _ response: AppServiceResponse, _ time: Duration) throws -> Bool {
        if response.status == .success {
            self.statistics.withLock { $0.answered(in: time) }
            try self.output.json(PingReplyOutput(sequence: number, microseconds: time.microseconds))
            try self.output.line(
                "\(self.size) bytes from \(self.name): seq=\(number) time=\(time.microsecondsText) µs"
            )
            return true
        }
        // Every other ping has the same size and would fail too.
        if let error = response.error, response.status == .messageTooLarge, error.outcome == .notExecuted {
            throw error
        }
        let reason = (response.error?.message ?? "\(response.status)").printable
        try self.output.json(PingLossOutput(sequence: number, status: "\(response.status)", message: reason))
        try self.output.line("seq=\(number) \(self.output.style(.red, "lost")): \(reason)")
        return response.status != .connectionClosed && response.error?.code != .connectionLost
    }
}

/// The first output of `ping --json`: the connection.
private struct PingStartOutput: Encodable {
    let event = "connected"
    let time = Date.now
    var name: String
    var address: String
    var systemID: SystemID?
    var size: Int
}

/// The output of `ping --json` for a response.
private struct PingReplyOutput: Encodable {
    let event = "reply"
    let time = Date.now
    var sequence: Int
    var microseconds: Double
}

/// The output of `ping --json` for a ping without a successful response.
private struct PingLossOutput: Encodable {
    let event = "lost"
    let time = Date.now
    var sequence: Int
    var status: String
    var message: String
}
