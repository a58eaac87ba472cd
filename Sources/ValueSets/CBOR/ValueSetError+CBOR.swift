// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Separate functions that are not inlined: the coding functions stay small, and their success path stays fast.
extension ValueSetError {
    @inline(never)
    static func truncated(at offset: Int) -> ValueSetError {
        ValueSetError(
            .truncated,
            "The bytes end before the value does. They were truncated, or a length is wrong: send the whole value.",
            byteOffset: offset
        )
    }

    @inline(never)
    static func trailingBytes(_ count: Int, at offset: Int) -> ValueSetError {
        ValueSetError(
            .trailingBytes,
            "\(count) bytes follow the value. Send one value and nothing else.",
            byteOffset: offset
        )
    }

    @inline(never)
    static func unexpectedItem(at offset: Int, expecting kind: StaticString) -> ValueSetError {
        ValueSetError(
            .typeMismatch,
            "The item has another type than is expected here.",
            byteOffset: offset,
            allowed: "\(kind)"
        )
    }

    @inline(never)
    static func indefiniteOrReserved(_ initial: UInt8, at offset: Int) -> ValueSetError {
        let isIndefinite = initial & 0x1f == 0x1f
        return ValueSetError(
            .unsupported,
            isIndefinite
                ? "An item of indefinite length, or a break, is not accepted. Send the length first."
                : "The item uses a head that RFC 8949 reserves.",
            byteOffset: offset,
            found: "initial byte 0x\(String(initial, radix: 16))"
        )
    }

    @inline(never)
    static func notShortest(at offset: Int) -> ValueSetError {
        ValueSetError(
            .notCanonical,
            "A number, length or tag is not in its shortest form. Use core deterministic encoding (RFC 8949 §4.2.1).",
            byteOffset: offset
        )
    }

    @inline(never)
    static func notTheNaN(at offset: Int) -> ValueSetError {
        ValueSetError(
            .notCanonical,
            "A NaN is not in its canonical form.",
            byteOffset: offset,
            allowed: "f97e00"
        )
    }

    @inline(never)
    static func unsupportedSimple(_ initial: UInt8, at offset: Int) -> ValueSetError {
        guard initial & 0x1f < 28 else { return indefiniteOrReserved(initial, at: offset) }
        return ValueSetError(
            .unsupported,
            "A simple value that this format does not use.",
            byteOffset: offset,
            found: "initial byte 0x\(String(initial, radix: 16))",
            allowed: "false, true, null and floating-point numbers"
        )
    }

    @inline(never)
    static func unsupportedTag(_ tag: UInt64, at offset: Int) -> ValueSetError {
        ValueSetError(
            .unsupported,
            "A tag that this format does not use.",
            byteOffset: offset,
            found: "tag \(tag)",
            allowed: "tags 1 (date), 32 (URL), 37 (UUID), 258 (set)"
        )
    }

    @inline(never)
    static func integerTooLow(at offset: Int) -> ValueSetError {
        ValueSetError(
            .notRepresentable,
            "An integer is out of range. Send it as a string, data or double.",
            byteOffset: offset,
            allowed: "\(Int64.min) to \(UInt64.max)"
        )
    }

    @inline(never)
    static func invalidUTF8(at offset: Int) -> ValueSetError {
        ValueSetError(
            .invalidText,
            "A text is not valid UTF-8. Send bytes that are not text as data.",
            byteOffset: offset
        )
    }

    @inline(never)
    static func invalidURL(at offset: Int) -> ValueSetError {
        ValueSetError(
            .invalidText,
            "A text tagged as URL is not a URI (RFC 3986). Percent-encode it, or send it as a string.",
            byteOffset: offset
        )
    }

    @inline(never)
    static func urlNotAbsolute() -> ValueSetError {
        ValueSetError(
            .notRepresentable,
            "The URL is not a URI (RFC 3986): it has no scheme or a malformed host. Send an absolute URL, or a string.",
            found: "a relative or malformed URL",
            allowed: "a URI with a scheme (RFC 3986)"
        )
    }

    @inline(never)
    static func dateNotFinite(at offset: Int? = nil) -> ValueSetError {
        ValueSetError(
            .notRepresentable,
            "A date is infinite or not a number. Leave the key out, or use null, for a date that is not known.",
            byteOffset: offset,
            allowed: "finite seconds since 1970"
        )
    }

    @inline(never)
    static func notTheDateForm(at offset: Int) -> ValueSetError {
        ValueSetError(
            .notCanonical,
            "A date's seconds are not in their canonical form.",
            byteOffset: offset,
            allowed: "an integer if whole and at most 2^53, else a float"
        )
    }

    @inline(never)
    static func duplicateKey(_ key: String, at offset: Int) -> ValueSetError {
        ValueSetError(
            .duplicateKey,
            "A dictionary has the same key twice. Send each key once.",
            byteOffset: offset
        ).inside(key: key)
    }

    @inline(never)
    static func wrongKeyOrder(_ key: String, at offset: Int) -> ValueSetError {
        ValueSetError(
            .notCanonical,
            "A dictionary's keys are out of order.",
            byteOffset: offset,
            allowed: "shorter keys first, keys of one length in the order of their bytes (RFC 8949 §4.2.1)"
        ).inside(key: key)
    }

    @inline(never)
    static func duplicateElement(at offset: Int) -> ValueSetError {
        ValueSetError(
            .duplicateKey,
            "A set has the same element twice. Send each element once.",
            byteOffset: offset
        )
    }

    @inline(never)
    static func wrongElementOrder(at offset: Int) -> ValueSetError {
        ValueSetError(
            .notCanonical,
            "A set's elements are out of order.",
            byteOffset: offset,
            allowed: "the order of their encoded bytes"
        )
    }

    @inline(never)
    static func tooDeep(limits: ValueSetLimits, at offset: Int? = nil) -> ValueSetError {
        ValueSetError(
            .limitExceeded,
            "Collections are nested too deep. Flatten the value.",
            byteOffset: offset,
            allowed: "\(limits.depth) levels"
        )
    }

    @inline(never)
    static func tooManyKeys(_ count: Int, limits: ValueSetLimits, at offset: Int? = nil) -> ValueSetError {
        ValueSetError(
            .limitExceeded,
            "A dictionary has too many keys. Split it up.",
            byteOffset: offset,
            found: "\(count) keys",
            allowed: "\(limits.keysPerDictionary) keys"
        )
    }

    @inline(never)
    static func tooManyItems(limits: ValueSetLimits, at offset: Int? = nil) -> ValueSetError {
        ValueSetError(
            .limitExceeded,
            "The value holds too many elements and entries in total. Split it up.",
            byteOffset: offset,
            allowed: "\(limits.items) items"
        )
    }

    @inline(never)
    static func tooManyBytes(_ count: Int, limits: ValueSetLimits) -> ValueSetError {
        ValueSetError(
            .limitExceeded,
            "The encoded value is too long. Split it up, or send a reference to the data.",
            found: "\(count) bytes",
            allowed: "\(limits.bytes) bytes"
        )
    }
}
