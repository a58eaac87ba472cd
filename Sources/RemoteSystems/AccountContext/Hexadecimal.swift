// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension Sequence<UInt8> {
    /// The bytes as text, with two lower-case hexadecimal digits for each.
    package var hexadecimal: String {
        self.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
