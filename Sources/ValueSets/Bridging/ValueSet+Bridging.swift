// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension ValueSet {
    /// Creates a value set from a dictionary of ordinary Swift values.
    ///
    /// Accepts `Bool`, every integer and floating-point type of the standard library, `String`, `Substring`, `Data`,
    /// `[UInt8]` (as data), `Date`, `UUID`, `URL`, ``Value`` and ``ValueSet``. Also accepts arrays of these types, sets
    /// of ``Value``, and dictionaries with string keys.
    ///
    /// - Parameter dictionary: The keys and values of the value set.
    /// - Throws: ``ValueSetError`` with the key path of the value: ``ValueSetError/Code/typeMismatch`` for a value of
    ///   another type, ``ValueSetError/Code/notRepresentable`` for an integer below `Int64.min` or above `UInt64.max`,
    ///   ``ValueSetError/Code/limitExceeded`` for values that are nested more than 128 levels deep.
    public init(bridging dictionary: [String: any Sendable]) throws(ValueSetError) {
        try self.init(bridging: dictionary, depth: 1)
    }

    /// The value set as a dictionary of ordinary Swift values.
    ///
    /// Integers become `Int` (`UInt64` above `Int.max`). Dates become `Date`, or stay ``Value`` if `Date` would round
    /// them. Null becomes ``Value/null``, and sets become `Set<Value>`. ``init(bridging:)`` reads the dictionary back
    /// without loss, with one exception: if keys differ only in their Unicode composition, the Swift dictionary keeps
    /// one of them.
    public var bridged: [String: any Sendable] {
        var dictionary: [String: any Sendable] = [:]
        dictionary.reserveCapacity(count)
        for entry in entries { dictionary[entry.key] = entry.value.bridged }
        return dictionary
    }

    fileprivate init(bridging dictionary: [String: any Sendable], depth: Int) throws(ValueSetError) {
        guard depth <= ValueSetLimits.deepest else { throw .tooDeep(limits: ValueSetLimits(depth: .max)) }
        var entries: [Entry] = []
        entries.reserveCapacity(dictionary.count)
        for (key, value) in dictionary {
            do {
                entries.append(Entry(key: key, value: try Value(bridging: value, depth: depth + 1)))
            } catch {
                throw error.inside(key: key)
            }
        }
        self.init(unsorted: entries)
    }
}

extension Value {
    /// Creates a value from an ordinary Swift value.
    ///
    /// - Parameter value: A value of one of the types listed at ``ValueSet/init(bridging:)``.
    /// - Throws: ``ValueSetError`` with the key path of the value: ``ValueSetError/Code/typeMismatch`` for a value of
    ///   another type, ``ValueSetError/Code/notRepresentable`` for an integer out of range,
    ///   ``ValueSetError/Code/limitExceeded`` for values that are nested more than 128 levels deep.
    public init(bridging value: any Sendable) throws(ValueSetError) {
        try self.init(bridging: value, depth: 1)
    }

    /// The value as an ordinary Swift value, of the type that ``ValueSet/bridged`` describes.
    public var bridged: any Sendable {
        switch self {
        case .null, .date: date.flatMap { Value.date($0) == self ? $0 as any Sendable : nil } ?? self
        case .bool(let bool): bool
        case .integer(let integer): Int(exactly: integer) ?? self
        case .unsigned(let unsigned): unsigned
        case .double(let double): double
        case .string(let string): string
        case .data(let data): data
        case .uuid(let uuid): uuid
        case .url(let url): url
        case .array(let array): array.map(\.bridged)
        case .set(let set): set
        case .dictionary(let dictionary): dictionary.bridged
        }
    }

    fileprivate init(bridging value: any Sendable, depth: Int) throws(ValueSetError) {
        guard depth <= ValueSetLimits.deepest else { throw .tooDeep(limits: ValueSetLimits(depth: .max)) }
        switch value {
        case let value as Value: self = value
        case let set as ValueSet: self = .dictionary(set)
        case let bool as Bool: self = .bool(bool)
        case let string as String: self = .string(string)
        case let substring as Substring: self = .string(String(substring))
        case let double as Double: self = .double(double)
        case let float as Float: self = Value(float)
        case let data as Data: self = .data(data)
        // An empty array can be cast to an array of any type.
        case let bytes as [UInt8] where Swift.type(of: value) == [UInt8].self: self = Value(bytes)
        case let date as Date: self = .date(date)
        case let uuid as UUID: self = .uuid(uuid)
        case let url as URL: self = .url(url)
        case let set as Set<Value>: self = .set(set)
        case let dictionary as [String: any Sendable]:
            self = .dictionary(try ValueSet(bridging: dictionary, depth: depth))
        case let array as [any Sendable]:
            self = .array(try Self.elements(bridging: array, depth: depth + 1))
        case let integer as any BinaryInteger & Sendable:
            guard let exact = Value(exactly: integer) else {
                throw ValueSetError(
                    .notRepresentable,
                    "An integer is out of range.",
                    allowed: "\(Int64.min) to \(UInt64.max)"
                )
            }
            self = exact
        default:
            throw ValueSetError(
                .typeMismatch,
                "A value is of a Swift type that has no counterpart. Convert it, or encode it with ValueSetEncoder.",
                found: String(String(describing: Swift.type(of: value)).prefix(96)),
                allowed: "the types listed at ValueSet.init(bridging:)"
            )
        }
    }

    private static func elements(bridging array: [any Sendable], depth: Int) throws(ValueSetError) -> [Value] {
        var elements: [Value] = []
        elements.reserveCapacity(array.count)
        for index in array.indices {
            do {
                elements.append(try Value(bridging: array[index], depth: depth))
            } catch {
                throw error.inside(index: index)
            }
        }
        return elements
    }
}
