// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// A request or a response of a built-in service. Its coding keys are the keys on the wire.
///
/// A message from a peer must satisfy the schema that is derived from the type
/// (``AllowedValueSchema/init(decoding:)``), then ``validate()``. Keys that are not declared are ignored.
protocol BuiltInMessage: Codable, Sendable {
    /// Checks what the schema does not express, such as lengths and ranges. Accepts everything by default.
    func validate() throws(InvalidMessage)
}

extension BuiltInMessage {
    func validate() throws(InvalidMessage) {}

    /// Checks and decodes a message of a peer.
    init(checking message: ValueSet, schema: AllowedValueSchema) throws(InvalidMessage) {
        do {
            // The decoder accepts whole doubles as integers. The schema does not.
            try schema.validate(message)
            self = try ValueSetDecoder().decode(Self.self, from: message)
            try self.validate()
        } catch let error as InvalidMessage {
            throw error
        } catch {
            let reason = (error as? ValueSetError) ?? ValueSetError(coding: error)
            throw InvalidMessage(reason.map { "\($0)" } ?? "Its content cannot be used.")
        }
    }
}

/// A message without content of its own.
struct EmptyMessage: BuiltInMessage {}

/// Why a message of a peer cannot be used. Types also throw it from `init(from:)`.
struct InvalidMessage: Error, Equatable {
    /// The reason, as a sentence for the peer.
    var text: String

    init(_ text: String) { self.text = text }
}
