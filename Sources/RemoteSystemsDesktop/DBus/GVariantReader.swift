// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import FoundationEssentials
internal import ValueSets

/// Reads values from `GVariant`s of any origin.
struct GVariantReader {
    private let limits: ValueSetLimits
    /// The number of elements and entries that may still be read.
    private var items: Int

    static func dictionary(_ variant: OpaquePointer, limits: ValueSetLimits) throws(ValueSetError) -> ValueSet {
        let signature = unsafe Self.signature(variant)
        guard signature == DBusForm.dictionary else {
            throw ValueSetError(
                .typeMismatch,
                "Only a D-Bus dictionary with string keys and variant values becomes a value set.",
                found: String(signature.prefix(32)),
                allowed: DBusForm.dictionary
            )
        }
        let size = unsafe Int(g_variant_get_size(variant))
        guard size <= limits.bytes else { throw Self.tooLarge("\(size) bytes", allowed: "\(limits.bytes)") }
        // GLib would read a GVariant that is not in normal form as other values than its sender wrote.
        guard unsafe g_variant_is_normal_form(variant) != 0 else {
            throw ValueSetError(.notCanonical, "The GVariant is not in normal form: its bytes are damaged.")
        }
        var reader = GVariantReader(limits: limits, items: limits.items)
        return unsafe try reader.set(variant, level: 1)
    }

    // MARK: Values

    private mutating func value(_ variant: OpaquePointer, level: Int) throws(ValueSetError) -> Value {
        let type = unsafe UInt8(truncatingIfNeeded: g_variant_classify(variant).rawValue)
        switch Character(UnicodeScalar(type)) {
        case "b": return unsafe .bool(g_variant_get_boolean(variant) != 0)
        case "y": return unsafe .integer(Int64(g_variant_get_byte(variant)))
        case "n": return unsafe .integer(Int64(g_variant_get_int16(variant)))
        case "q": return unsafe .integer(Int64(g_variant_get_uint16(variant)))
        case "i": return unsafe .integer(Int64(g_variant_get_int32(variant)))
        case "u": return unsafe .integer(Int64(g_variant_get_uint32(variant)))
        case "x": return unsafe .integer(Int64(g_variant_get_int64(variant)))
        case "t": return unsafe Value(UInt64(g_variant_get_uint64(variant)))
        case "d": return unsafe .double(g_variant_get_double(variant))
        case "s", "o", "g": return unsafe .string(Self.text(variant))
        case "v":
            let inner = unsafe GVariantReference(g_variant_get_variant(variant))
            return unsafe try inner.with { (inner) throws(ValueSetError) in unsafe try self.value(inner, level: level) }
        case "a": return unsafe try self.collection(variant, level: level)
        case "(":
            return unsafe .array(try self.elements(variant, level: level))
        default:
            throw unsafe Self.unsupported(variant)
        }
    }

    private mutating func collection(_ variant: OpaquePointer, level: Int) throws(ValueSetError) -> Value {
        let signature = unsafe Self.signature(variant)
        if signature == "ay" { return unsafe .data(Self.bytes(variant)) }
        guard signature.hasPrefix("a{") else { return unsafe .array(try self.elements(variant, level: level)) }
        guard ["a{s", "a{o", "a{g"].contains(where: signature.hasPrefix) else { throw unsafe Self.unsupported(variant) }
        if let tagged = unsafe try self.tagged(variant, level: level) { return tagged }
        return unsafe .dictionary(try self.set(variant, level: level))
    }

    private mutating func elements(_ variant: OpaquePointer, level: Int) throws(ValueSetError) -> [Value] {
        let count = unsafe try self.enter(variant, level: level)
        var elements: [Value] = []
        elements.reserveCapacity(count)
        for index in 0..<count {
            let child = unsafe GVariantReference(g_variant_get_child_value(variant, gsize(index)))
            do throws(ValueSetError) {
                elements.append(
                    unsafe try child.with { (child) throws(ValueSetError) in
                        unsafe try self.value(child, level: level + 1)
                    }
                )
            } catch {
                throw error.inside(index: index)
            }
        }
        return elements
    }

    /// Reads a dictionary of type `a{sv}`.
    private mutating func set(_ variant: OpaquePointer, level: Int) throws(ValueSetError) -> ValueSet {
        let count = unsafe try self.enter(variant, level: level)
        guard count <= self.limits.keysPerDictionary else {
            throw Self.tooLarge("\(count) keys", allowed: "\(self.limits.keysPerDictionary)")
        }
        var pairs: [(String, Value)] = []
        pairs.reserveCapacity(count)
        for index in 0..<count {
            let entry = unsafe GVariantReference(g_variant_get_child_value(variant, gsize(index)))
            let (key, value) = unsafe try entry.with { (entry) throws(ValueSetError) in
                unsafe try self.pair(entry, level: level)
            }
            pairs.append((key, value))
        }
        return try ValueSet(pairs) { (_, _) throws(ValueSetError) in
            throw ValueSetError(.duplicateKey, "A D-Bus dictionary has a key twice.")
        }
    }

    private mutating func pair(_ entry: OpaquePointer, level: Int) throws(ValueSetError) -> (String, Value) {
        let keyVariant = unsafe GVariantReference(g_variant_get_child_value(entry, 0))
        let valueVariant = unsafe GVariantReference(g_variant_get_child_value(entry, 1))
        var key = unsafe keyVariant.with { unsafe Self.text($0) }
        do throws(ValueSetError) {
            if key.hasPrefix("$") {
                key.removeFirst()
                guard key.hasPrefix("$") else {
                    throw ValueSetError(
                        .unsupported,
                        "A key with a single '$' is a tag, alone in a nested dictionary. Write '$$' for '$'.",
                        allowed: DBusForm.Tag.allCases.map(\.key).joined(separator: ", ")
                    )
                }
            }
            let value = unsafe try valueVariant.with { (value) throws(ValueSetError) in
                unsafe try self.value(value, level: level + 1)
            }
            return (key, value)
        } catch {
            throw error.inside(key: key)
        }
    }

    // MARK: Tags

    /// Returns the value of a dictionary that consists of one tag; `nil` for any other dictionary.
    private mutating func tagged(_ variant: OpaquePointer, level: Int) throws(ValueSetError) -> Value? {
        guard unsafe g_variant_n_children(variant) == 1 else { return nil }
        let entry = unsafe GVariantReference(g_variant_get_child_value(variant, 0))
        return unsafe try entry.with { (entry) throws(ValueSetError) -> Value? in
            let keyVariant = unsafe GVariantReference(g_variant_get_child_value(entry, 0))
            let valueVariant = unsafe GVariantReference(g_variant_get_child_value(entry, 1))
            let key = unsafe keyVariant.with { unsafe Self.text($0) }
            guard let tag = DBusForm.Tag.allCases.first(where: { $0.key == key }) else { return nil }
            do throws(ValueSetError) {
                let value = unsafe try valueVariant.with { (value) throws(ValueSetError) in
                    unsafe try self.value(value, level: level + 1)
                }
                return try Self.untagged(tag, value)
            } catch {
                throw error.inside(key: key)
            }
        }
    }

    private static func untagged(_ tag: DBusForm.Tag, _ value: Value) throws(ValueSetError) -> Value {
        switch (tag, value) {
        case (.null, .bool(true)): return .null
        case (.date, .double(let seconds)) where seconds.isFinite: return .date(secondsSince1970: seconds)
        case (.date, .integer(let seconds)): return .date(secondsSince1970: Double(seconds))
        case (.uuid, .string(let text)): if let uuid = UUID(uuidString: text) { return .uuid(uuid) }
        case (.url, .string(let text)):
            if let url = DBusForm.url(text) { return .url(url) }
        case (.set, .array(let array)):
            let set = Set(array)
            guard set.count == array.count else {
                throw ValueSetError(.duplicateKey, "A set has an element twice.")
            }
            return .set(set)
        default: break
        }
        throw ValueSetError(
            .notRepresentable,
            "The value does not fit its tag.",
            found: "\(value.type)",
            allowed: "what the article \"Value sets on D-Bus\" lists for \(tag.key)"
        )
    }

    // MARK: Parts

    /// Checks the limits before the children of a container are read.
    ///
    /// - Returns: The number of children.
    private mutating func enter(_ variant: OpaquePointer, level: Int) throws(ValueSetError) -> Int {
        guard level <= self.limits.depth else {
            throw Self.tooLarge("\(level) levels of collections", allowed: "\(self.limits.depth)")
        }
        let count = unsafe Int(clamping: g_variant_n_children(variant))
        guard count <= self.items else {
            throw Self.tooLarge("more elements and entries", allowed: "\(self.limits.items)")
        }
        self.items -= count
        return count
    }

    private static func text(_ variant: OpaquePointer) -> String {
        unsafe g_variant_get_string(variant, nil).map { unsafe String(cString: $0) } ?? ""
    }

    private static func bytes(_ variant: OpaquePointer) -> Data {
        var count: gsize = 0
        guard let bytes = unsafe g_variant_get_fixed_array(variant, &count, 1), count > 0 else { return Data() }
        return unsafe Data(bytes: bytes, count: Int(count))
    }

    private static func signature(_ variant: OpaquePointer) -> String {
        unsafe g_variant_get_type_string(variant).map { unsafe String(cString: $0) } ?? ""
    }

    private static func unsupported(_ variant: OpaquePointer) -> ValueSetError {
        ValueSetError(
            .unsupported,
            "A value set has no counterpart for this D-Bus type, such as a file descriptor or a key that is not text.",
            found: String(unsafe Self.signature(variant).prefix(32))
        )
    }

    private static func tooLarge(_ found: String, allowed: String) -> ValueSetError {
        ValueSetError(.limitExceeded, "The D-Bus dictionary is larger than allowed.", found: found, allowed: allowed)
    }
}

/// Owns one reference to a `GVariant`, and releases it.
@safe struct GVariantReference: ~Copyable {
    private let variant: OpaquePointer

    /// Takes over a reference of the caller.
    init(_ variant: OpaquePointer) { unsafe self.variant = variant }

    deinit { unsafe g_variant_unref(self.variant) }

    func with<Result, Failure: Error>(_ body: (OpaquePointer) throws(Failure) -> Result) throws(Failure) -> Result {
        unsafe try body(self.variant)
    }
}
