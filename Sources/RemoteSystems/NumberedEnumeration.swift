// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// A public type whose named values have Project Rome's numbers, from 0 on. Numbers that this version does not know are
/// preserved.
protocol NumberedEnumeration: RawRepresentable, Hashable, Sendable, CustomStringConvertible where RawValue == Int {
    /// The names of the known values, in the order of their numbers.
    static var names: [String] { get }

    init(rawValue: Int)
}

extension NumberedEnumeration {
    /// Whether this version knows the number.
    var isKnown: Bool { Self.names.indices.contains(self.rawValue) }

    /// The value's name; for an unknown number, the type's name and the number.
    public var description: String {
        guard !self.isKnown else { return Self.names[self.rawValue] }
        let type = "\(Self.self)"
        return "\(type.prefix(1).lowercased())\(type.dropFirst()) \(self.rawValue)"
    }

    /// Reads the number from a field of a message; `nil` unless the field is an unsigned integer.
    init?(_ field: Value?) {
        guard let number = field?.unsignedInteger.flatMap({ Int(exactly: $0) }) else { return nil }
        self.init(rawValue: number)
    }

    /// The number as a field of a message.
    var field: Value { .integer(Int64(self.rawValue)) }
}

/// A status that frames carry as the same number.
protocol FramedStatus: NumberedEnumeration {
    associatedtype Wire: WireStatus
}

extension FramedStatus {
    /// Creates the status with the number of a received one. A number beyond `Int` becomes the largest `Int`.
    init(_ wire: Wire) { self.init(rawValue: Int(clamping: wire.rawValue)) }
}

extension WireStatus {
    /// Creates the status with the number of one that a program returned. A negative number becomes 0.
    init<Status: FramedStatus>(_ status: Status) where Status.Wire == Self {
        self.init(rawValue: UInt64(clamping: status.rawValue))
    }
}
