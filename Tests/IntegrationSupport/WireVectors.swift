// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The lists of `Docs/wire-vectors.json`, which section 13 of `Docs/wire-protocol.md` describes.
package enum WireVectors {
    /// A JSON value.
    package enum JSON: Sendable, Hashable, Decodable {
        case null, bool(Bool), unsigned(UInt64), number(Double), string(String), array([JSON]), object([String: JSON])

        package init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            // The most frequent types come first, since each failed attempt costs time.
            if let value = try? container.decode(String.self) {
                self = .string(value)
            } else if let value = try? container.decode(UInt64.self) {
                self = .unsigned(value)
            } else if let value = try? container.decode([String: JSON].self) {
                self = .object(value)
            } else if let value = try? container.decode([JSON].self) {
                self = .array(value)
            } else if let value = try? container.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else if container.decodeNil() {
                self = .null
            } else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not JSON")
            }
        }

        package var string: String? { if case .string(let value) = self { value } else { nil } }
        package var unsigned: UInt64? { if case .unsigned(let value) = self { value } else { nil } }
        package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
        package var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
        package var object: [String: JSON]? { if case .object(let value) = self { value } else { nil } }

        package subscript(_ key: String) -> JSON? { self.object?[key] }

        /// The bytes of hexadecimal digits, or of the vectors' notation for data.
        package var bytes: [UInt8]? {
            if let base64 = self["$data"]?.string { return Data(base64Encoded: base64).map { Array($0) } }
            guard let digits = self.string?.compactMap(\.hexDigitValue), digits.count == self.string?.count,
                digits.count.isMultiple(of: 2)
            else { return nil }
            return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        }
    }

    /// One entry of a list.
    package struct Vector: Sendable, CustomStringConvertible {
        package let json: JSON

        package subscript(_ key: String) -> JSON? { self.json[key] }
        package var name: String { self["name"]?.string ?? "?" }
        package var description: String { self.name }
        /// The bytes of `hex`.
        package var bytes: [UInt8] {
            get throws { try self.required("hex", \.bytes) }
        }
        /// Whether the bytes, or the text, are valid.
        package var isValid: Bool { self["refused"] == nil }

        package func required<Part>(_ key: String, _ part: (JSON) -> Part?) throws -> Part {
            guard let json = self[key], let value = part(json) else {
                throw IntegrationError("the vector '\(self.name)' has no usable '\(key)'")
            }
            return value
        }
    }

    private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Docs/wire-vectors.json")

    /// Read once for all tests of a process.
    private static let content = Result { try JSONDecoder().decode(JSON.self, from: Data(contentsOf: file)) }

    /// The whole file.
    package static func all() throws -> JSON { try self.content.get() }

    /// The entries of a list.
    package static func list(_ name: String) throws -> [Vector] {
        guard let entries = try self.all()[name]?.array, !entries.isEmpty else {
            throw IntegrationError("wire-vectors.json has no list '\(name)'")
        }
        return entries.map { Vector(json: $0) }
    }
}
