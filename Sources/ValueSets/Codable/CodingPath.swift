// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The path to a place in a value that is being coded, as a linked list that starts at the innermost key.
///
/// A node is created only for a nested coder, and converted to coding keys only for an error.
final class CodingPath: Sendable {
    private let parent: CodingPath?
    private let key: any CodingKey
    /// The number of nested coders up to here.
    let depth: Int

    init(_ parent: CodingPath?, _ key: any CodingKey) {
        self.parent = parent
        self.key = key
        depth = (parent?.depth ?? 0) + 1
    }

    var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var step: CodingPath? = self
        while let current = step {
            keys.append(current.key)
            step = current.parent
        }
        return keys.reversed()
    }
}

extension CodingPath? {
    var keys: [any CodingKey] { self?.keys ?? [] }
    var depth: Int { self?.depth ?? 0 }
}

/// A key that the coded type does not declare: an index, or `super`.
enum IndexKey: CodingKey {
    case index(Int)
    case `super`

    var stringValue: String {
        switch self {
        case .index(let index): "\(index)"
        case .super: "super"
        }
    }

    var intValue: Int? {
        if case .index(let index) = self { index } else { nil }
    }

    init?(stringValue: String) { nil }

    init?(intValue: Int) {
        self = .index(intValue)
    }
}

/// A key read from a dictionary.
struct TextKey: CodingKey {
    let stringValue: String
    /// Always `nil`, so that a path distinguishes keys made of digits from array positions.
    var intValue: Int? { nil }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) {
        stringValue = "\(intValue)"
    }
}
