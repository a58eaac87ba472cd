// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Finds the name that a misspelt name was probably meant to be.
package enum SimilarNames {
    /// The maximum length of a compared name, in characters. Names may come from a peer, and the time grows with the
    /// square of the length.
    private static let maxLength = 64
    private static let maxNames = 1024

    /// Returns the name that is most similar to `name`.
    ///
    /// Two names are similar if they differ only in case, in at most a third of their characters, or in what precedes
    /// the last part of a dotted name (`volume` and `com.example.volume`). A name that begins with `name` is similar,
    /// too.
    ///
    /// - Returns: `nil` if no name is similar, or if one is equal.
    package static func closest(to name: String, among names: some Sequence<String>) -> String? {
        let written = Array(name.lowercased())
        guard (1...Self.maxLength).contains(written.count) else { return nil }
        var best: (name: String, distance: Int)?
        for candidate in Set(names.prefix(Self.maxNames)).sorted() {
            guard candidate != name else { return nil }
            let distance = Self.distance(from: written, to: candidate.lowercased())
            guard let distance, distance < best?.distance ?? .max else { continue }
            best = (candidate, distance)
        }
        return best?.name
    }

    /// Returns ` Did you mean 'NAME'?` with a leading space, or an empty string if no name is similar.
    package static func question(for name: String, among names: some Sequence<String>) -> String {
        Self.closest(to: name, among: names).map { " Did you mean '\($0)'?" } ?? ""
    }

    /// The distance between two names; `nil` if they are not similar.
    private static func distance(from written: [Character], to candidate: String) -> Int? {
        let whole = Array(candidate.prefix(Self.maxLength * 4))
        if whole == written { return 0 }
        let last = Array(whole[((whole.lastIndex(of: ".") ?? -1) + 1)...])
        if last == written { return 1 }
        let edits = [whole, last].compactMap { Self.edits(written, $0) }.min()
        if let edits { return edits * 2 }
        return written.count >= 3 && whole.starts(with: written) ? Self.maxLength * 4 : nil
    }

    /// The number of characters to insert, remove, replace or swap with their neighbour (optimal string alignment);
    /// `nil` if it is more than a third of the characters.
    private static func edits(_ left: [Character], _ right: [Character]) -> Int? {
        let limit = max(left.count, right.count) / 3
        guard limit > 0, right.count <= Self.maxLength, abs(left.count - right.count) <= limit else { return nil }
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in 1...left.count {
            var current = [row]
            for column in 1...right.count {
                let isSame = left[row - 1] == right[column - 1]
                var cost = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    cost = min(cost, beforeLast[column - 2] + 1)
                }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count] <= limit ? last[right.count] : nil
    }
}
