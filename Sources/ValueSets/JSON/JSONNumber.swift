// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A number as written in JSON: decimal digits, possibly more than any type can hold.
struct JSONNumber {
    /// The reason why a number cannot become a value.
    enum Loss: Error {
        /// The number is whole and does not fit into 64 bits.
        case integer
        /// The number is too large for a double, or so small that it would become 0.
        case tooLarge, tooSmall
    }

    /// The digits before the decimal point.
    var whole: ArraySlice<UInt8>
    var isNegative: Bool
    /// The digits after the decimal point.
    var fraction: ArraySlice<UInt8> = []
    /// The digits after the `e`, with their sign.
    var exponent: ArraySlice<UInt8> = []

    private var sign: String { self.isNegative ? "-" : "" }
    private var isZero: Bool { (self.whole + self.fraction).allSatisfy { $0 == UInt8(ascii: "0") } }

    /// An integer if the number is whole, however it is written, else the nearest double. −0 is a double.
    func value() throws(Loss) -> Value {
        guard let digits = self.integer, !(self.isNegative && self.isZero) else { return .double(try self.double()) }
        let text = self.sign + String(decoding: digits, as: UTF8.self)
        if let integer = Int64(text) { return .integer(integer) }
        if let unsigned = UInt64(text) { return .unsigned(unsigned) }
        _ = try self.double()
        throw .integer
    }

    /// The nearest double.
    func double() throws(Loss) -> Double {
        let digits = self.whole + [UInt8(ascii: ".")] + (self.fraction.isEmpty ? [UInt8(ascii: "0")] : self.fraction)
        let exponent = self.exponent.isEmpty ? [] : [UInt8(ascii: "e")] + self.exponent
        guard let double = Double(self.sign + String(decoding: digits + exponent, as: UTF8.self)), double.isFinite
        else {
            throw .tooLarge
        }
        guard double != 0 || self.isZero else { throw .tooSmall }
        return double
    }

    /// The digits of the number if it is whole; `nil` if it has a fraction.
    private var integer: ArraySlice<UInt8>? {
        guard !self.fraction.isEmpty || !self.exponent.isEmpty else { return self.whole }
        guard !self.isZero else { return [UInt8(ascii: "0")] }
        let written = String(decoding: self.exponent, as: UTF8.self)
        // No text is long enough to compensate for a greater exponent, and no computation below overflows.
        let most = 1 << 40
        let exponent = written.isEmpty ? 0 : Int(written) ?? (written.hasPrefix("-") ? -most : most)
        var digits = self.whole + self.fraction
        var places = self.fraction.count - min(max(exponent, -most), most)
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            places -= 1
        }
        guard places <= 0 else { return nil }
        // More than twenty digits never fit, so no more zeros are needed.
        return digits + repeatElement(UInt8(ascii: "0"), count: min(-places, 20))
    }
}
