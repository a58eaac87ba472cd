// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The messages of a measurement: their size, their number in flight, and the kind of response.
package struct Load: Codable, Hashable, Sendable {
    /// The response of the server to each message.
    package enum Answer: String, Codable, Hashable, Sendable {
        /// The same bytes.
        case echo
        /// The smallest response of the protocol, sent once the whole message has arrived.
        case acknowledgement
    }

    /// The payload of a message, in bytes, without the protocol's framing.
    package var bytes: Int
    /// The number of messages that wait for their response at any time.
    package var inFlight: Int
    package var answer: Answer

    package init(bytes: Int, inFlight: Int, answer: Answer = .echo) {
        self.bytes = bytes
        self.inFlight = inFlight
        self.answer = answer
    }

    /// The smallest load, which measures latency.
    package static let roundTrip = Load(bytes: 64, inFlight: 1)
    /// Many small messages: measures the cost of one message without waiting.
    package static let pipelined = Load(bytes: 64, inFlight: 64)
    /// Large messages in one direction: measures the cost of a byte.
    package static let bulk = Load(bytes: 1 << 20, inFlight: 8, answer: .acknowledgement)

    /// All loads of a run, in the order of the report.
    package static let all: [Load] =
        [64, 4096, 1 << 20].flatMap { bytes in
            [1, 64].map { Load(bytes: bytes, inFlight: $0) }
        } + [.bulk]

    package var title: String {
        let kind =
            switch answer {
            case .echo: "echo"
            case .acknowledgement: "one way, acknowledged"
            }
        return "\(byteTitle) \(kind), \(inFlight) in flight"
    }

    private var byteTitle: String {
        switch bytes {
        case (1 << 20)...: "\(bytes >> 20) MiB"
        case (1 << 10)...: "\(bytes >> 10) KiB"
        default: "\(bytes) B"
        }
    }
}

/// The end of a measurement: a count or a time, whichever is reached first.
package struct Limit: Codable, Hashable, Sendable {
    package var count: Int
    package var nanoseconds: Int64

    package init(count: Int, nanoseconds: Int64) {
        self.count = count
        self.nanoseconds = nanoseconds
    }

    package init(count: Int, seconds: Double) {
        self.init(count: count, nanoseconds: Int64(seconds * 1e9))
    }
}
