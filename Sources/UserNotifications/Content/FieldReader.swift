// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ValueSets

/// Reads the fields of a value set. Each error names the field.
struct FieldReader {
    let set: ValueSet

    init(_ set: ValueSet) { self.set = set }

    private func read<Read>(
        _ key: String,
        _ type: String,
        _ read: (Value) -> Read?
    ) throws(NotificationError) -> Read? {
        guard let value = self.set[key], !value.isNull else { return nil }
        guard let read = read(value) else {
            throw NotificationError(.invalidContent, "The value must be \(type).", field: key)
        }
        return read
    }

    func string(_ key: String) throws(NotificationError) -> String? {
        try self.read(key, "a string") { $0.string }
    }

    func requiredString(_ key: String) throws(NotificationError) -> String {
        guard let text = try self.string(key) else {
            throw NotificationError(.invalidContent, "The value is missing.", field: key)
        }
        return text
    }

    func int(_ key: String) throws(NotificationError) -> Int? { try self.read(key, "an integer") { $0.int } }

    func bool(_ key: String) throws(NotificationError) -> Bool? { try self.read(key, "true or false") { $0.bool } }

    /// A flag of the JSON form: 1, 0, `true` or `false`. `false` if the key is missing.
    func flag(_ key: String) throws(NotificationError) -> Bool {
        try self.read(key, "1 or 0") { value in
            if let bool = value.bool { return bool }
            return value.int.flatMap { (0...1).contains($0) ? $0 == 1 : nil }
        } ?? false
    }

    func double(_ key: String) throws(NotificationError) -> Double? { try self.read(key, "a number") { $0.double } }

    func uuid(_ key: String) throws(NotificationError) -> UUID? { try self.read(key, "a UUID") { $0.uuid } }

    func dictionary(_ key: String) throws(NotificationError) -> ValueSet? {
        try self.read(key, "a dictionary") { $0.dictionary }
    }

    func strings(_ key: String, max: Int) throws(NotificationError) -> [String] {
        guard let array = try self.array(key, max: max) else { return [] }
        var strings: [String] = []
        for (index, value) in array.enumerated() {
            guard let string = value.string else {
                throw NotificationError(.invalidContent, "The value must be a string.", field: "\(key)[\(index)]")
            }
            strings.append(string)
        }
        return strings
    }

    func dictionaries(_ key: String, max: Int) throws(NotificationError) -> [ValueSet] {
        guard let array = try self.array(key, max: max) else { return [] }
        var sets: [ValueSet] = []
        for (index, value) in array.enumerated() {
            guard let set = value.dictionary else {
                throw NotificationError(.invalidContent, "The value must be a dictionary.", field: "\(key)[\(index)]")
            }
            sets.append(set)
        }
        return sets
    }

    private func array(_ key: String, max: Int) throws(NotificationError) -> [Value]? {
        let array = try self.read(key, "an array") { $0.array }
        if let array { try FieldCheck.count(array.count, key, max: max) }
        return array
    }
}

extension ValueSet {
    /// Stores a text unless it is nil or empty.
    mutating func put(_ text: String?, _ key: String) {
        if let text, !text.isEmpty { self[key] = .string(text) }
    }
}
