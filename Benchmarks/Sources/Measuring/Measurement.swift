// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What one contestant did in one round under one load.
package struct Measurement: Codable, Hashable, Sendable {
    /// The time of each operation in nanoseconds, none left out.
    package var nanoseconds: [Int64]
    /// From the start of the first operation to the end of the last.
    package var elapsedNanoseconds: Int64

    package init(nanoseconds: [Int64], elapsedNanoseconds: Int64) {
        self.nanoseconds = nanoseconds
        self.elapsedNanoseconds = elapsedNanoseconds
    }
}
