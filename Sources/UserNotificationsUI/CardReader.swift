// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// Reads the fields of a value set, and names the one that is not valid.
struct CardReader {
    let set: ValueSet

    init(_ set: ValueSet) { self.set = set }

    private func read<Field>(
        _ key: String,
        _ type: String,
        _ convert: (Value) -> Field?
    ) throws(NotificationCardError) -> Field? {
        guard let value = self.set[key] else { return nil }
        guard let field = convert(value) else {
            throw NotificationCardError("The value must be \(type).", field: key)
        }
        return field
    }

    func string(_ key: String) throws(NotificationCardError) -> String? { try self.read(key, "a string") { $0.string } }

    func requiredString(_ key: String) throws(NotificationCardError) -> String {
        guard let text = try self.string(key) else { throw NotificationCardError("The value is missing.", field: key) }
        return text
    }

    func bool(_ key: String) throws(NotificationCardError) -> Bool? { try self.read(key, "true or false") { $0.bool } }

    /// An integer, too: JSON does not distinguish 1 and 1.0.
    func number(_ key: String) throws(NotificationCardError) -> Double? {
        try self.read(key, "a number") { $0.double ?? $0.int.map(Double.init) }
    }

    func int(_ key: String) throws(NotificationCardError) -> Int {
        guard let number = try self.read(key, "an integer", { $0.int }) else {
            throw NotificationCardError("The value is missing.", field: key)
        }
        return number
    }

    func dictionary(_ key: String) throws(NotificationCardError) -> ValueSet? {
        try self.read(key, "a dictionary") { $0.dictionary }
    }

    func array(_ key: String) throws(NotificationCardError) -> [Value] {
        guard let array = try self.read(key, "an array", { $0.array }) else {
            throw NotificationCardError("The value is missing.", field: key)
        }
        return array
    }
}
