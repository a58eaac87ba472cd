// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The result of one contestant in one round under one load.
package struct Measurement: Codable, Hashable, Sendable {
    /// The time of every operation, in nanoseconds.
    package var nanoseconds: [Int64]
    /// The time from the start of the first operation to the end of the last, in nanoseconds.
    package var elapsedNanoseconds: Int64

    package init(nanoseconds: [Int64], elapsedNanoseconds: Int64) {
        self.nanoseconds = nanoseconds
        self.elapsedNanoseconds = elapsedNanoseconds
    }
}
