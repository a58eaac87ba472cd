// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension Sequence<String> {
    /// The name that was probably meant by a misspelt one; `nil` if none is near.
    ///
    /// Near are names that differ in letter case alone, or in at most a third of the letters: one left out, added or replaced, or
    /// two neighbours swapped (optimal string alignment distance).
    func closest(to name: String) -> String? {
        let letters = Array(name.lowercased().unicodeScalars)
        guard (1...64).contains(letters.count) else { return nil }
        let candidates = self.map { (name: $0, distance: letters.distance(to: Array($0.lowercased().unicodeScalars))) }
        let best = candidates.min { ($0.distance, $0.name) < ($1.distance, $1.name) }
        return best.flatMap { $0.distance <= Swift.max(1, letters.count / 3) ? $0.name : nil }
    }
}

extension [Unicode.Scalar] {
    fileprivate func distance(to other: [Unicode.Scalar]) -> Int {
        var beforeLast: [Int] = []
        var last = Array<Int>(0...other.count)
        for (row, letter) in self.enumerated() {
            var current = [row + 1]
            for (column, otherLetter) in other.enumerated() {
                var cost = Swift.min(
                    last[column + 1] + 1,
                    current[column] + 1,
                    last[column] + (letter == otherLetter ? 0 : 1)
                )
                if row > 0, column > 0, letter == other[column - 1], self[row - 1] == otherLetter {
                    cost = Swift.min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[other.count]
    }
}
