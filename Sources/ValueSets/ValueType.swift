// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The name of a value's type, as used in errors and schemas.
public enum ValueType: String, Sendable, Hashable, CaseIterable {
    /// ``Value/null``.
    case null
    /// ``Value/bool(_:)``.
    case bool
    /// ``Value/integer(_:)`` and ``Value/unsigned(_:)``.
    case integer
    /// ``Value/double(_:)``.
    case double
    /// ``Value/string(_:)``.
    case string
    /// ``Value/data(_:)``.
    case data
    /// ``Value/date(secondsSince1970:)``.
    case date
    /// ``Value/uuid(_:)``.
    case uuid
    /// ``Value/url(_:)``.
    case url
    /// ``Value/array(_:)``.
    case array
    /// ``Value/set(_:)``.
    case set
    /// ``Value/dictionary(_:)``.
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
