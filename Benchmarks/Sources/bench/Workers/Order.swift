// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring

/// What the driver asks of a worker, one JSON object a line on the worker's standard input.
enum Order: Codable, Sendable {
    /// Exchange messages on the worker's first connection and report every time.
    case exchange(Load, Limit)
    /// The same, but the times are thrown away: to warm up, or to be looked at from outside.
    case rehearse(Load, Limit)
    /// Open connections one after the other, closing each, and report every time to the first answer.
    case open(Limit)
    /// Open so many more connections and keep them.
    case hold(Int)

    /// Encode or decode again and again.
    case code(CoderName, CodingTask, Limit)
    /// Report how many bytes the coder makes of the dictionary.
    case size(CoderName, CodingTask.Dictionary)

    case startHost
    case stopHost
    case startWatcher
    /// Report when a system was added, waiting for at most so many seconds.
    case awaitAdded(seconds: Double)
    case stopWatcher
}

/// A worker's answer, one JSON object a line on its standard output.
struct Response: Codable, Sendable {
    var measurement: Measurement?
    /// A count of bytes or an instant in monotonic nanoseconds, as the order has it.
    var number: Int64?
    var address: String?
    /// Further processes that the worker started and that do part of its work.
    var companions: [Int32]?
    var failure: String?
}
