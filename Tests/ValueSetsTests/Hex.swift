// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}

func bytes(_ hex: String) -> [UInt8] {
    var rest = hex[...]
    var bytes: [UInt8] = []
    while let byte = UInt8(rest.prefix(2), radix: 16) {
        bytes.append(byte)
        rest = rest.dropFirst(2)
    }
    return bytes
}
