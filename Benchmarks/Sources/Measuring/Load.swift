// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What travels in one measurement: how large, how many at once, and what comes back.
package struct Load: Codable, Hashable, Sendable {
    /// What the answering side sends back for each message.
    package enum Answer: String, Codable, Hashable, Sendable {
        /// The same bytes.
        case echo
        /// As little as the protocol allows, once the whole message has arrived.
        case acknowledgement
    }

    /// Payload bytes in one message, without any protocol's own framing.
    package var bytes: Int
    /// How many messages wait for their answer at any time.
    package var inFlight: Int
    package var answer: Answer

    package init(bytes: Int, inFlight: Int, answer: Answer = .echo) {
        self.bytes = bytes
        self.inFlight = inFlight
        self.answer = answer
    }

    /// The smallest load: latency and nothing else.
    package static let roundTrip = Load(bytes: 64, inFlight: 1)
    /// Many small messages: the cost of one message when waiting costs nothing.
    package static let pipelined = Load(bytes: 64, inFlight: 64)
    /// Large messages in one direction: the cost of a byte.
    package static let bulk = Load(bytes: 1 << 20, inFlight: 8, answer: .acknowledgement)

    /// Every load of a run, in the order in which it is shown.
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

/// Where a measurement ends: whichever comes first.
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
