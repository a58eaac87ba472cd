// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The division of a QR code's words into blocks with error correction level M (ISO/IEC 18004, table 9).
struct QRBlocks {
    private let version: Int
    /// The numbers of words of error correction in each block, and of blocks, by version.
    private static let correctionWords = [
        10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28, 28, 28, 28, 28, 28,
        28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    ]
    private static let blocks = [
        1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31,
        33, 35, 37, 38, 40, 43, 45, 47, 49,
    ]

    /// - Parameter version: 1 to 40.
    init(_ version: Int) {
        self.version = version
    }

    private var blockCount: Int { Self.blocks[self.version - 1] }
    private var correctionCount: Int { Self.correctionWords[self.version - 1] }

    /// The number of all words.
    private var wordCount: Int {
        var modules = (16 * self.version + 128) * self.version + 64
        if self.version >= 2 {
            let positions = self.version / 7 + 2
            modules -= (25 * positions - 10) * positions - 55
            if self.version >= 7 { modules -= 36 }
        }
        return modules / 8
    }

    private var dataCount: Int { self.wordCount - self.blockCount * self.correctionCount }
    /// The number of bits of the field that holds the number of bytes.
    private var countBits: Int { self.version < 10 ? 8 : 16 }

    /// The maximum number of bytes in the code.
    var capacity: Int { (self.dataCount * 8 - 4 - self.countBits) / 8 }

    /// The words of the code in the order in which they are drawn: the bytes in byte mode, padding and correction.
    func interleaved(_ bytes: [UInt8]) -> [UInt8] {
        let words = self.padded(bytes)
        let shortLength = words.count / self.blockCount
        let longBlocks = words.count % self.blockCount
        var blocks: [[UInt8]] = []
        var start = 0
        for index in 0..<self.blockCount {
            let end = start + shortLength + (index >= self.blockCount - longBlocks ? 1 : 0)
            blocks.append(Array(words[start..<end]))
            start = end
        }
        let generator = Self.generator(self.correctionCount)
        let corrections = blocks.map { Self.remainder(of: $0, by: generator) }
        var result: [UInt8] = []
        for index in 0...shortLength {
            for block in blocks where index < block.count { result.append(block[index]) }
        }
        for index in 0..<self.correctionCount {
            for correction in corrections { result.append(correction[index]) }
        }
        return result
    }

    private func padded(_ bytes: [UInt8]) -> [UInt8] {
        var bits: [Bool] = []
        func append(_ value: Int, _ count: Int) {
            for index in (0..<count).reversed() { bits.append(value >> index & 1 == 1) }
        }
        append(0b0100, 4)
        append(bytes.count, self.countBits)
        for byte in bytes { append(Int(byte), 8) }
        append(0, min(4, self.dataCount * 8 - bits.count))
        while !bits.count.isMultiple(of: 8) { bits.append(false) }
        var words = stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
        }
        var padding: UInt8 = 0xEC
        while words.count < self.dataCount {
            words.append(padding)
            padding ^= 0xEC ^ 0x11
        }
        return words
    }

    // MARK: Reed–Solomon

    /// Multiplies in the field of 256 elements with the polynomial 0x11D.
    private static func multiply(_ first: UInt8, _ second: UInt8) -> UInt8 {
        var product = 0
        for index in (0..<8).reversed() {
            product = product << 1 ^ (product >> 7) * 0x11D
            if second >> UInt8(index) & 1 == 1 { product ^= Int(first) }
        }
        return UInt8(truncatingIfNeeded: product)
    }

    /// The coefficients of the generator of a degree, without the leading one.
    private static func generator(_ degree: Int) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: degree - 1) + [1]
        var root: UInt8 = 1
        for _ in 0..<degree {
            for index in 0..<degree {
                result[index] = self.multiply(result[index], root)
                if index + 1 < degree { result[index] ^= result[index + 1] }
            }
            root = self.multiply(root, 2)
        }
        return result
    }

    private static func remainder(of words: [UInt8], by generator: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: generator.count)
        for word in words {
            let factor = word ^ result.removeFirst()
            result.append(0)
            for index in generator.indices { result[index] ^= self.multiply(generator[index], factor) }
        }
        return result
    }
}
