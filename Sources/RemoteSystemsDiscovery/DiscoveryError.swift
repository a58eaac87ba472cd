// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Invalid input to discovery. Trying again with the same values does not help.
public struct DiscoveryError: Error, Sendable, Equatable {
    /// The part of the input that is not valid.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case invalidInstance, invalidPort, invalidProperty, propertiesTooLarge, invalidPeer, invalidInterval
        }
        private let value: Value

        /// The instance name cannot be written as a DNS label: 1–63 bytes of UTF-8 without control characters.
        public static let invalidInstance = Code(value: .invalidInstance)
        /// The port is outside the range of TCP ports, 1–65535.
        public static let invalidPort = Code(value: .invalidPort)
        /// A key or value cannot be written as a TXT string (RFC 6763 §6).
        public static let invalidProperty = Code(value: .invalidProperty)
        /// The properties together are larger than ``DiscoveryLimits/propertyBytes``.
        public static let propertiesTooLarge = Code(value: .propertiesTooLarge)
        /// A static peer is not written as `host:port`, or its host or port is not valid (``StaticPeer``).
        public static let invalidPeer = Code(value: .invalidPeer)
        /// The interval at which names are resolved again is out of range: 1 s–24 h.
        public static let invalidInterval = Code(value: .invalidInterval)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// The part of the input that is not valid.
    public let code: Code

    /// The description of what is invalid and what to do, for a person to read.
    public let message: String

    package init(code: Code, message: String) {
        self.code = code
        self.message = message
    }
}

extension DiscoveryError: CustomStringConvertible {
    /// The code and the message.
    public var description: String { "\(code): \(message)" }
}
