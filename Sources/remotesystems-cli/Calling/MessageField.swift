// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// A field of a message on the command line: `key=text` or `key:=json`.
struct MessageField: Sendable {
    let key: String
    let text: String
    let isJSON: Bool

    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "="), equals > argument.startIndex else { return nil }
        let before = argument.index(before: equals)
        self.isJSON = argument[before] == ":"
        self.key = String(argument[..<(self.isJSON ? before : equals)])
        self.text = String(argument[argument.index(after: equals)...])
        guard !self.key.isEmpty else { return nil }
    }

    /// Parses a field for the argument parser.
    ///
    /// - Throws: `ValidationError` if the argument has no key or no `=`.
    init(written argument: String) throws {
        guard let field = MessageField(argument: argument) else {
            throw ValidationError(
                "A field is key=value or key:=JSON, such as Level=0.4; the key or the '=' is missing here."
            )
        }
        self = field
    }

    /// The field's value.
    ///
    /// - Parameter type: The declared type of the field; nil if none is declared.
    private func value(as type: FieldType?) throws(Failure) -> Value {
        if self.isJSON {
            do throws(ValueSetError) {
                let json = try Value(json: self.text)
                return type?.value(fitting: json) ?? json
            } catch {
                var failure = Failure(error)
                failure.message = "The JSON value of \(self.key) cannot be sent. \(error) Nothing was sent."
                let separator = error.keyPath.isEmpty || error.keyPath.hasPrefix("[") ? "" : "."
                failure.keyPath = self.key + separator + error.keyPath
                throw failure
            }
        }
        guard let type else { return .string(self.text) }
        guard let value = type.value(of: self.text) else {
            var failure = Failure(
                "\(RemoteSystemError.Code.invalidMessage)",
                "\(self.key): found '\(self.text)', allowed: \(type). Nothing was sent."
            )
            failure.keyPath = self.key
            throw failure
        }
        return value
    }

    /// Warnings about undeclared fields whose name resembles a declared field that is missing in the message.
    ///
    /// A service that allows further keys would ignore such a field.
    static func misspellings(_ fields: [MessageField], for schema: AllowedValueSchema?) -> [String] {
        let declared = schema?.fields.map(\.name) ?? []
        let absent = declared.filter { name in !fields.contains { $0.key == name } }
        return fields.filter { !declared.contains($0.key) }.compactMap { field in
            SimilarNames.closest(to: field.key, among: absent).map {
                "The service declares no field '\(field.key)'. Did you mean '\($0)'?".printable
            }
        }
    }

    /// Builds the message of these fields, and checks it against the service's schema.
    ///
    /// - Parameter isSent: Whether a message without fields is sent, and therefore checked.
    static func message(
        _ fields: [MessageField],
        for schema: AllowedValueSchema?,
        isSent: Bool = true
    ) throws(Failure) -> ValueSet {
        var message: ValueSet = [:]
        for field in fields {
            guard message[field.key] == nil else {
                throw Failure("\(RemoteSystemError.Code.invalidMessage)", "\(field.key) is given twice.")
            }
            message[field.key] = try field.value(as: schema?.fields.first { $0.name == field.key }?.type)
        }
        guard isSent || !fields.isEmpty else { return message }
        do {
            try schema?.validate(message)
        } catch {
            var failure = Failure(error)
            failure.message = "The service does not accept this message. \(error) Nothing was sent."
            throw failure
        }
        return message
    }
}
