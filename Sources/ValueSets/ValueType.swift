// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The name of a value's type, as used in errors and schemas.
public enum ValueType: String, Sendable, Hashable, CaseIterable {
    /// The type of ``Value/null``.
    case null
    /// The type of ``Value/bool(_:)``.
    case bool
    /// The type of ``Value/integer(_:)`` and ``Value/unsigned(_:)``.
    case integer
    /// The type of ``Value/double(_:)``.
    case double
    /// The type of ``Value/string(_:)``.
    case string
    /// The type of ``Value/data(_:)``.
    case data
    /// The type of ``Value/date(secondsSince1970:)``.
    case date
    /// The type of ``Value/uuid(_:)``.
    case uuid
    /// The type of ``Value/url(_:)``.
    case url
    /// The type of ``Value/array(_:)``.
    case array
    /// The type of ``Value/set(_:)``.
    case set
    /// The type of ``Value/dictionary(_:)``.
    case dictionary
}

extension Value {
    /// The type of this value.
    public var type: ValueType {
        switch self {
        case .null: .null
        case .bool: .bool
        case .integer, .unsigned: .integer
        case .double: .double
        case .string: .string
        case .data: .data
        case .date: .date
        case .uuid: .uuid
        case .url: .url
        case .array: .array
        case .set: .set
        case .dictionary: .dictionary
        }
    }
}
