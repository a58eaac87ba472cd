// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension CBORReader {
    /// Reads a value of any type.
    ///
    /// - Throws: ``ValueSetError`` with the byte offset, and the key path within the value.
    package mutating func readValue() throws(ValueSetError) -> Value {
        try readValue(depth: 1)
    }

    /// Reads a dictionary.
    ///
    /// - Throws: ``ValueSetError`` with the byte offset, and the key path within the dictionary.
    package mutating func readValueSet() throws(ValueSetError) -> ValueSet {
        let initial = try readInitial(CBORMajor.map, expecting: "a dictionary")
        return try readValueSet(initial, depth: 1)
    }

    mutating func readValue(depth: Int) throws(ValueSetError) -> Value {
        let initial = try readInitial()
        switch initial & 0xe0 {
        case CBORMajor.text:
            return .string(try readText(initial))
        case CBORMajor.unsigned:
            return Value(try readArgument(initial))
        case CBORMajor.negative:
            let start = offset - 1
            guard let complement = Int64(exactly: try readArgument(initial)) else { throw .integerTooLow(at: start) }
            return .integer(~complement)
        case CBORMajor.map:
            return .dictionary(try readValueSet(initial, depth: depth))
        case CBORMajor.array:
            return .array(try readArray(initial, depth: depth))
        case CBORMajor.bytes:
            let length = try readCount(initial, bytesEach: 1)
            return .data(takeData(length))
        case CBORMajor.tag:
            return try readTagged(initial, depth: depth)
        default:
            return try readSimple(initial)
        }
    }

    private mutating func readSimple(_ initial: UInt8) throws(ValueSetError) -> Value {
        switch initial {
        case CBORSimple.false: .bool(false)
        case CBORSimple.true: .bool(true)
        case CBORSimple.null: .null
        default: .double(try readFloat(initial))
        }
    }

    private mutating func readFloat(_ initial: UInt8) throws(ValueSetError) -> Double {
        let start = offset - 1
        switch initial {
        case CBORSimple.half:
            let bits = try read(UInt16.self)
            let number = CBORFloat.number(half: bits)
            guard !number.isNaN || bits == CBORFloat.quietNaN else { throw .notTheNaN(at: start) }
            return number
        case CBORSimple.single:
            let single = Float(bitPattern: try read(UInt32.self))
            guard !single.isNaN else { throw .notTheNaN(at: start) }
            guard CBORFloat.half(exactly: single) == nil else { throw .notShortest(at: start) }
            return Double(single)
        case CBORSimple.double:
            let double = Double(bitPattern: try read(UInt64.self))
            guard !double.isNaN else { throw .notTheNaN(at: start) }
            guard Double(Float(double)) != double else { throw .notShortest(at: start) }
            return double
        default:
            throw .unsupportedSimple(initial, at: start)
        }
    }

    private mutating func readArray(_ initial: UInt8, depth: Int) throws(ValueSetError) -> [Value] {
        let count = try readCount(initial, bytesEach: 1)
        try enter(count: count, depth: depth)
        var array: [Value] = []
        array.reserveCapacity(count)
        for index in 0..<count {
            do {
                array.append(try readValue(depth: depth + 1))
            } catch {
                throw error.inside(index: index)
            }
        }
        return array
    }

    private mutating func readValueSet(_ initial: UInt8, depth: Int) throws(ValueSetError) -> ValueSet {
        let start = offset - 1
        let count = try readCount(initial, bytesEach: 2)
        guard count <= limits.keysPerDictionary else { throw .tooManyKeys(count, limits: limits, at: start) }
        try enter(count: count, depth: depth)
        var entries: [ValueSet.Entry] = []
        entries.reserveCapacity(count)
        var previousEnd = offset
        var previousLength = -1
        for _ in 0..<count {
            let keyStart = offset
            let keyInitial = try readInitial(CBORMajor.text, expecting: "a key, which is text")
            let key = try readText(keyInitial)
            let length = key.utf8.count
            if length <= previousLength {
                let order =
                    unsafe length < previousLength
                    ? 1
                    : compareBytes(pointer(at: previousEnd - length), pointer(at: offset - length), count: length)
                guard order < 0 else {
                    throw order == 0 ? .duplicateKey(key, at: keyStart) : .wrongKeyOrder(key, at: keyStart)
                }
            }
            previousLength = length
            previousEnd = offset
            do {
                entries.append(ValueSet.Entry(key: key, value: try readValue(depth: depth + 1)))
            } catch {
                throw error.inside(key: key)
            }
        }
        return ValueSet(canonicalEntries: entries)
    }

    private mutating func readTagged(_ initial: UInt8, depth: Int) throws(ValueSetError) -> Value {
        let start = offset - 1
        switch try readArgument(initial) {
        case CBORTag.date: return .date(secondsSince1970: try readSeconds())
        case CBORTag.uuid: return .uuid(try readUUID())
        case CBORTag.uri: return .url(try readURL())
        case CBORTag.set: return .set(try readSet(depth: depth))
        case let tag: throw .unsupportedTag(tag, at: start)
        }
    }

    private mutating func readSeconds() throws(ValueSetError) -> Double {
        let start = offset
        let initial = try readInitial()
        switch initial & 0xe0 {
        case CBORMajor.unsigned, CBORMajor.negative:
            let argument = try readArgument(initial)
            let magnitude = initial & 0xe0 == CBORMajor.unsigned ? argument : argument &+ 1
            guard argument < 1 << 53 || magnitude == 1 << 53 else { throw .notTheDateForm(at: start) }
            return initial & 0xe0 == CBORMajor.unsigned ? Double(magnitude) : -Double(magnitude)
        case CBORMajor.simple:
            let seconds = try readFloat(initial)
            guard seconds.isFinite else { throw .dateNotFinite(at: start) }
            guard !CBORSeconds.isInteger(seconds) else { throw .notTheDateForm(at: start) }
            return seconds
        default:
            throw .unexpectedItem(at: start, expecting: "a date's seconds, an integer or a float")
        }
    }

    private mutating func readUUID() throws(ValueSetError) -> UUID {
        let start = offset
        let initial = try readInitial(CBORMajor.bytes, expecting: "a UUID's 16 bytes")
        guard try readCount(initial, bytesEach: 1) == 16 else {
            throw .unexpectedItem(at: start, expecting: "a UUID's 16 bytes")
        }
        return unsafe UUID(uuid: take(16).loadUnaligned(as: uuid_t.self))
    }

    private mutating func readURL() throws(ValueSetError) -> URL {
        let start = offset
        let initial = try readInitial(CBORMajor.text, expecting: "a URL's text")
        guard let url = URL(sent: try readText(initial)) else { throw .invalidURL(at: start) }
        return url
    }

    private mutating func readSet(depth: Int) throws(ValueSetError) -> Set<Value> {
        let initial = try readInitial(CBORMajor.array, expecting: "a set's elements, an array")
        let count = try readCount(initial, bytesEach: 1)
        try enter(count: count, depth: depth)
        var set = Set<Value>(minimumCapacity: count)
        var previous = offset..<offset
        for index in 0..<count {
            let start = offset
            do throws(ValueSetError) {
                let element = try readValue(depth: depth + 1)
                let range = start..<offset
                // No encoding is a prefix of another one, so comparing the common length is sufficient.
                let order = unsafe compareBytes(
                    pointer(at: previous.lowerBound),
                    pointer(at: start),
                    count: min(previous.count, range.count)
                )
                guard index == 0 || order < 0 else {
                    throw order == 0 ? .duplicateElement(at: start) : .wrongElementOrder(at: start)
                }
                guard set.insert(element).inserted else { throw .duplicateElement(at: start) }
                previous = range
            } catch {
                throw error.inside(index: index)
            }
        }
        return set
    }
}
