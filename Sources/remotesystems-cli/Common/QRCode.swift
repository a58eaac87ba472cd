// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A QR code (ISO/IEC 18004) of bytes, with error correction level M, in the smallest version that has room.
struct QRCode: Hashable {
    /// The number of modules of a side, without the quiet zone.
    private(set) var size: Int
    /// The modules in rows. `true` is dark.
    private var modules: [[Bool]]
    /// The modules of the patterns, which hold no data.
    private var isFunction: [[Bool]]

    subscript(row row: Int, column column: Int) -> Bool { self.modules[row][column] }

    /// Creates a code; `nil` if the bytes are too many (2331).
    init?(_ bytes: [UInt8]) {
        guard let version = (1...40).first(where: { QRBlocks($0).capacity >= bytes.count }) else { return nil }
        let words = QRBlocks(version).interleaved(bytes)
        self.size = 17 + 4 * version
        self.modules = Array(repeating: Array(repeating: false, count: self.size), count: self.size)
        self.isFunction = self.modules
        self.drawFunctionPatterns(version)
        self.draw(words)
        let masked = (0..<8).map { self.masked($0) }
        // Of equals, `min` returns the first.
        if let best = masked.min(by: { $0.penalty < $1.penalty }) { self = best }
    }

    // MARK: Patterns

    private mutating func set(_ row: Int, _ column: Int, _ isDark: Bool) {
        self.modules[row][column] = isDark
        self.isFunction[row][column] = true
    }

    private mutating func drawFunctionPatterns(_ version: Int) {
        for index in 0..<self.size {
            self.set(6, index, index.isMultiple(of: 2))
            self.set(index, 6, index.isMultiple(of: 2))
        }
        for (row, column) in [(3, 3), (3, self.size - 4), (self.size - 4, 3)] { self.drawFinder(row, column) }
        let positions = Self.alignmentPositions(version)
        let last = positions.count - 1
        for (i, row) in positions.enumerated() {
            for (j, column) in positions.enumerated()
            where !(i == 0 && j == 0 || i == 0 && j == last || i == last && j == 0) {
                for dy in -2...2 {
                    for dx in -2...2 { self.set(row + dy, column + dx, max(abs(dy), abs(dx)) != 1) }
                }
            }
        }
        self.drawFormat(0)
        self.drawVersion(version)
    }

    private mutating func drawFinder(_ row: Int, _ column: Int) {
        for dy in -4...4 {
            for dx in -4...4 {
                let (y, x) = (row + dy, column + dx)
                guard (0..<self.size).contains(y), (0..<self.size).contains(x) else { continue }
                let distance = max(abs(dy), abs(dx))
                self.set(y, x, distance != 2 && distance != 4)
            }
        }
    }

    static func alignmentPositions(_ version: Int) -> [Int] {
        guard version > 1 else { return [] }
        let count = version / 7 + 2
        let step = version == 32 ? 26 : (version * 4 + count * 2 + 1) / (count * 2 - 2) * 2
        let end = version * 4 + 10
        return [6] + (0..<count - 1).map { end - $0 * step }.reversed()
    }

    /// Draws the mask and the error correction level, with their own error correction.
    private mutating func drawFormat(_ mask: Int) {
        // Level M is 0.
        var rest = mask
        for _ in 0..<10 { rest = rest << 1 ^ (rest >> 9) * 0x537 }
        let bits = (mask << 10 | rest) ^ 0x5412
        func bit(_ index: Int) -> Bool { bits >> index & 1 == 1 }
        for index in 0...5 { self.set(index, 8, bit(index)) }
        self.set(7, 8, bit(6))
        self.set(8, 8, bit(7))
        self.set(8, 7, bit(8))
        for index in 9..<15 { self.set(8, 14 - index, bit(index)) }
        for index in 0..<8 { self.set(8, self.size - 1 - index, bit(index)) }
        for index in 8..<15 { self.set(self.size - 15 + index, 8, bit(index)) }
        self.set(self.size - 8, 8, true)
    }

    private mutating func drawVersion(_ version: Int) {
        guard version >= 7 else { return }
        var rest = version
        for _ in 0..<12 { rest = rest << 1 ^ (rest >> 11) * 0x1F25 }
        let bits = version << 12 | rest
        for index in 0..<18 {
            let (row, column) = (index / 3, self.size - 11 + index % 3)
            self.set(row, column, bits >> index & 1 == 1)
            self.set(column, row, bits >> index & 1 == 1)
        }
    }

    // MARK: Data

    /// Draws the words in columns of two modules, upwards and downwards in turn, from the right.
    private mutating func draw(_ words: [UInt8]) {
        var index = 0
        for right in stride(from: self.size - 1, through: 1, by: -2) {
            let right = right <= 6 ? right - 1 : right
            let isUpward = (right + 1) & 2 == 0
            for step in 0..<self.size {
                let row = isUpward ? self.size - 1 - step : step
                for column in [right, right - 1] where !self.isFunction[row][column] && index < words.count * 8 {
                    self.modules[row][column] = words[index / 8] >> UInt8(7 - index % 8) & 1 == 1
                    index += 1
                }
            }
        }
    }

    private func masked(_ mask: Int) -> QRCode {
        var code = self
        for row in 0..<self.size {
            for column in 0..<self.size where !self.isFunction[row][column] && Self.inverts(mask, row, column) {
                code.modules[row][column].toggle()
            }
        }
        code.drawFormat(mask)
        return code
    }

    private static func inverts(_ mask: Int, _ row: Int, _ column: Int) -> Bool {
        switch mask {
        case 0: (row + column) % 2 == 0
        case 1: row % 2 == 0
        case 2: column % 3 == 0
        case 3: (row + column) % 3 == 0
        case 4: (row / 2 + column / 3) % 2 == 0
        case 5: row * column % 2 + row * column % 3 == 0
        case 6: (row * column % 2 + row * column % 3) % 2 == 0
        default: ((row + column) % 2 + row * column % 3) % 2 == 0
        }
    }

    /// How badly a scanner may read the code: long lines, blocks, patterns like the finders', and imbalance.
    private var penalty: Int {
        var penalty = 0
        var dark = 0
        let columns = (0..<self.size).map { column in self.modules.map { $0[column] } }
        for line in self.modules + columns { penalty += Self.penalty(of: line) }
        for row in 0..<self.size {
            dark += self.modules[row].count { $0 }
            guard row > 0 else { continue }
            for column in 1..<self.size {
                let module = self.modules[row][column]
                if module == self.modules[row][column - 1], module == self.modules[row - 1][column],
                    module == self.modules[row - 1][column - 1]
                {
                    penalty += 3
                }
            }
        }
        let total = self.size * self.size
        return penalty + abs(dark * 20 - total * 10) / total * 10
    }

    private static let finderLines: [[Bool]] = {
        let finder = [true, false, true, true, true, false, true]
        let light = Array(repeating: false, count: 4)
        return [finder + light, light + finder]
    }()

    private static func penalty(of line: [Bool]) -> Int {
        var penalty = 0
        var run = 0
        for (index, module) in line.enumerated() {
            run = index > 0 && line[index - 1] == module ? run + 1 : 1
            if run == 5 { penalty += 3 } else if run > 5 { penalty += 1 }
        }
        for start in 0...line.count - 11 where self.finderLines.contains(Array(line[start..<start + 11])) {
            penalty += 40
        }
        return penalty
    }

    // MARK: Text

    /// The code in lines of half blocks, with the quiet zone of four modules. Light modules are drawn, for terminals
    /// with a dark background.
    var lines: [String] {
        let zone = 4
        func isLight(_ row: Int, _ column: Int) -> Bool {
            guard (0..<self.size).contains(row), (0..<self.size).contains(column) else { return true }
            return !self.modules[row][column]
        }
        return stride(from: -zone, to: self.size + zone, by: 2).map { row in
            (-zone..<self.size + zone).map { column in
                switch (isLight(row, column), isLight(row + 1, column)) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }.joined()
        }
    }
}
