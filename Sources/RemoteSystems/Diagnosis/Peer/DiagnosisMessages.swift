// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The built-in service with which another system of the account diagnoses the connection between the two
/// (`Docs/wire/diagnosis.md`).
enum Diagnosis {
    static let service = "remote-systems.diagnosis"

    static let state = BuiltInMethod<EmptyMessage, State>("state")
    static let look = BuiltInMethod<Look, Looked>("look")
    static let connect = BuiltInMethod<Connect, Connected>("connect")

    /// The state of the responding system.
    struct State: BuiltInMessage {
        var time: Date
        var version: String
        /// The caller's address as the responding system sees it.
        var address: String
        /// The instance names under which the responding system is advertised.
        var advertised: [String]

        private enum CodingKeys: String, CodingKey {
            case time = "Time"
            case version = "Version"
            case address = "Address"
            case advertised = "Advertised"
        }
    }

    struct Look: BuiltInMessage {
        /// The instance name of the advertisement to look for.
        var instance: String

        private enum CodingKeys: String, CodingKey { case instance = "Instance" }

        func validate() throws(InvalidMessage) {
            guard (1...63).contains(self.instance.utf8.count) else {
                throw InvalidMessage("An instance's name has 1 to 63 bytes.")
            }
        }
    }

    struct Looked: BuiltInMessage {
        var isSeen: Bool

        private enum CodingKeys: String, CodingKey { case isSeen = "Seen" }
    }

    struct Connect: BuiltInMessage {
        /// The port of the caller to connect to.
        var port: Int

        private enum CodingKeys: String, CodingKey { case port = "Port" }

        func validate() throws(InvalidMessage) {
            guard (1...65_535).contains(self.port) else { throw InvalidMessage("A port is a number from 1 to 65535.") }
        }
    }

    struct Connected: BuiltInMessage {
        /// The raw value of a ``BackConnection``. Later versions may add others.
        var outcome: String

        private enum CodingKeys: String, CodingKey { case outcome = "Outcome" }
    }
}
