// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A floating-point number in the shortest of CBOR's three widths that represents it exactly (RFC 8949 §4.2.1, rule 3).
///
/// The half-precision form is computed from the bits, so that it is the same on every processor.
enum CBORFloat {
    case half(UInt16)
    case single(UInt32)
    case double(UInt64)

    static let quietNaN: UInt16 = 0x7e00

    @inline(__always)
    init(shortest value: Double) {
        guard !value.isNaN else {
            self = .half(Self.quietNaN)
            return
        }
        let single = Float(value)
        guard Double(single) == value else {
            self = .double(value.bitPattern)
            return
        }
        if let half = Self.half(exactly: single) {
            self = .half(half)
        } else {
            self = .single(single.bitPattern)
        }
    }

    /// The size of the encoding in bytes, including the initial byte.
    var encodedCount: Int {
        switch self {
        case .half: 3
        case .single: 5
        case .double: 9
        }
    }

    /// The half-precision bit pattern of a number that is not NaN; `nil` if the conversion is not exact.
    static func half(exactly single: Float) -> UInt16? {
        let bits = single.bitPattern
        let sign = UInt16(truncatingIfNeeded: bits >> 16) & 0x8000
        let biasedExponent = Int((bits >> 23) & 0xff)
        let fraction = bits & 0x7f_ffff
        if biasedExponent == 0xff { return sign | 0x7c00 }
        if biasedExponent == 0 { return fraction == 0 ? sign : nil }
        let exponent = biasedExponent - 127
        switch exponent {
        case -14...15:
            guard fraction & 0x1fff == 0 else { return nil }
            return sign | UInt16(exponent + 15) << 10 | UInt16(fraction >> 13)
        case -24 ... -15:
            // Subnormal: a multiple of 2^-24 below 2^-14.
            let significand = fraction | 0x80_0000
            let shift = UInt32(-1 - exponent)
            guard significand & (1 << shift - 1) == 0 else { return nil }
            return sign | UInt16(significand >> shift)
        default:
            return nil
        }
    }

    /// The number of a half-precision bit pattern. Any NaN pattern gives a NaN.
    static func number(half bits: UInt16) -> Double {
        let exponent = UInt64(bits >> 10) & 0x1f
        let fraction = UInt64(bits & 0x3ff)
        let sign = UInt64(bits >> 15) << 63
        switch exponent {
        case 0:
            let magnitude = Double(fraction) * 0x1p-24
            return Double(bitPattern: magnitude.bitPattern | sign)
        case 0x1f:
            return Double(bitPattern: sign | 0x7ff << 52 | fraction << 42)
        default:
            return Double(bitPattern: sign | (exponent + 1008) << 52 | fraction << 42)
        }
    }
}

/// A date's seconds in their canonical form: an integer if they are whole and at most 2^53 in magnitude, else a float.
enum CBORSeconds {
    case integer(Int64)
    case float(CBORFloat)

    static let largestInteger = 0x1p53

    @inline(__always)
    init(_ seconds: Double) {
        if Self.isInteger(seconds) {
            self = .integer(Int64(seconds))
        } else {
            self = .float(CBORFloat(shortest: seconds))
        }
    }

    @inline(__always)
    static func isInteger(_ seconds: Double) -> Bool {
        seconds.magnitude <= largestInteger && seconds.rounded(.towardZero) == seconds
    }
}
