// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Computes the length of an encoding and finds every error before the first byte is written.
///
/// With a known length, the memory is allocated once and written in one pass. A message that is too long is refused
/// without being built.
struct CBORMeasure {
    let limits: ValueSetLimits
    private(set) var items = 0
    private(set) var bytes = 0

    init(limits: ValueSetLimits) {
        self.limits = limits
    }

    static func size(of value: Value, limits: ValueSetLimits) throws(ValueSetError) -> Int {
        var measure = CBORMeasure(limits: limits)
        try measure.add(value, depth: 1)
        return try measure.checkedBytes()
    }

    static func size(of set: ValueSet, limits: ValueSetLimits) throws(ValueSetError) -> Int {
        var measure = CBORMeasure(limits: limits)
        try measure.add(set, depth: 1)
        return try measure.checkedBytes()
    }

    private func checkedBytes() throws(ValueSetError) -> Int {
        guard bytes <= limits.bytes else { throw .tooManyBytes(bytes, limits: limits) }
        return bytes
    }

    @inline(__always)
    private mutating func addHead(_ argument: Int) {
        bytes += CBORSink.headSize(UInt64(truncatingIfNeeded: argument))
    }

    @inline(__always)
    private mutating func addText(_ text: String) {
        let count = text.utf8.count
        bytes += CBORSink.headSize(UInt64(truncatingIfNeeded: count)) + count
    }

    mutating func add(_ value: Value, depth: Int) throws(ValueSetError) {
        switch value {
        case .null, .bool:
            bytes += 1
        case .integer(let integer):
            bytes += CBORSink.headSize(UInt64(bitPattern: integer < 0 ? ~integer : integer))
        case .unsigned(let unsigned):
            bytes += CBORSink.headSize(unsigned)
        case .double(let double):
            bytes += CBORFloat(shortest: double).encodedCount
        case .string(let string):
            addText(string)
        case .data(let data):
            addHead(data.count)
            bytes += data.count
        case .date(let seconds):
            try addDate(seconds)
        case .uuid:
            bytes += 2 + 1 + 16
        case .url(let url):
            bytes += 2
            addText(try url.encodableText())
        case .array(let array):
            try addArray(array, depth: depth)
        case .set(let set):
            bytes += 3
            try enter(count: set.count, depth: depth)
            for element in set {
                // Before encoding, a set has no order, so a key path cannot contain its elements' positions.
                try add(element, depth: depth + 1)
            }
        case .dictionary(let dictionary):
            try add(dictionary, depth: depth)
        }
    }

    mutating func add(_ set: ValueSet, depth: Int) throws(ValueSetError) {
        let entries = set.entries
        guard entries.count <= limits.keysPerDictionary else { throw .tooManyKeys(entries.count, limits: limits) }
        try enter(count: entries.count, depth: depth)
        let span = entries.span
        for index in span.indices {
            addText(span[index].key)
            do {
                try add(span[index].value, depth: depth + 1)
            } catch {
                throw error.inside(key: span[index].key)
            }
        }
    }

    private mutating func addArray(_ array: [Value], depth: Int) throws(ValueSetError) {
        try enter(count: array.count, depth: depth)
        for index in array.indices {
            do {
                try add(array[index], depth: depth + 1)
            } catch {
                throw error.inside(index: index)
            }
        }
    }

    private mutating func addDate(_ seconds: Double) throws(ValueSetError) {
        guard seconds.isFinite else { throw .dateNotFinite() }
        switch CBORSeconds(seconds) {
        case .integer(let integer): bytes += 1 + CBORSink.headSize(UInt64(bitPattern: integer < 0 ? ~integer : integer))
        case .float(let float): bytes += 1 + float.encodedCount
        }
    }

    @inline(__always)
    private mutating func enter(count: Int, depth: Int) throws(ValueSetError) {
        guard depth <= limits.depth else { throw .tooDeep(limits: limits) }
        items += count
        guard items <= limits.items else { throw .tooManyItems(limits: limits) }
        addHead(count)
    }
}

extension URL {
    /// The text to send: an absolute URL that parsing leaves unchanged.
    func encodableText() throws(ValueSetError) -> String {
        let text = absoluteString
        guard URL(sent: text) != nil else { throw .urlNotAbsolute() }
        return text
    }

    /// Creates a URL from text that is a URI (RFC 3986, so with a scheme) and that parsing leaves unchanged.
    init?(sent text: String) {
        guard URIGrammar.isURI(text), let url = URL(string: text, encodingInvalidCharacters: false),
            url.absoluteString.hasSameUTF8(as: text)
        else { return nil }
        self = url
    }
}
