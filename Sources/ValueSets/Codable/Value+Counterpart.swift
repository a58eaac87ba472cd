// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The reason why a value cannot be decoded as the requested type. The container adds the coding path.
enum CodingFailure: Error {
    case mismatch(any Any.Type, StaticString)
    case outOfRange(any Any.Type)
}

extension Value {
    /// Converts the value to a type that has a counterpart in ``Value``; `nil` if the type has none.
    @inline(__always)
    func counterpart<T>(_ type: T.Type) throws(CodingFailure) -> T? {
        if type == String.self { return same(try decodedString(), as: type) }
        if type == Double.self { return same(try decodedDouble(), as: type) }
        if type == Int.self { return same(try decodedInteger(Int.self), as: type) }
        if type == Bool.self { return same(try decodedBool(), as: type) }
        if type == Date.self { return same(try require(date, "a date"), as: type) }
        if type == UUID.self { return same(try require(uuid, "a UUID"), as: type) }
        if type == Data.self { return same(try require(data, "data"), as: type) }
        if type == URL.self { return same(try require(url, "a URL"), as: type) }
        if type == Value.self { return same(self, as: type) }
        if type == ValueSet.self { return same(try require(dictionary, "a dictionary"), as: type) }
        return nil
    }

    func decodedBool() throws(CodingFailure) -> Bool { try require(bool, "a boolean") }

    func decodedString() throws(CodingFailure) -> String { try require(string, "a string") }

    func decodedDouble() throws(CodingFailure) -> Double {
        if case .double(let double) = self { return double }
        return try number(double, Double.self)
    }

    func decodedFloat() throws(CodingFailure) -> Float {
        let double = try decodedDouble()
        let float = Float(double)
        // Losing precision is what the caller requested; infinity from a finite number is not.
        guard float.isFinite || !double.isFinite else { throw .outOfRange(Float.self) }
        return float
    }

    func decodedInteger<Integer: FixedWidthInteger>(_ type: Integer.Type) throws(CodingFailure) -> Integer {
        switch self {
        case .integer(let integer): try number(Integer(exactly: integer), type)
        case .unsigned(let unsigned): try number(Integer(exactly: unsigned), type)
        case .double(let double): try number(Integer(exactly: double), type)
        default: throw .mismatch(type, "an integer")
        }
    }

    private func number<Number>(_ number: Number?, _ type: Number.Type) throws(CodingFailure) -> Number {
        if let number { return number }
        switch self {
        case .integer, .unsigned, .double: throw .outOfRange(type)
        default: throw .mismatch(type, "a number")
        }
    }

    private func require<T>(_ part: T?, _ kind: StaticString) throws(CodingFailure) -> T {
        guard let part else { throw .mismatch(T.self, kind) }
        return part
    }
}
