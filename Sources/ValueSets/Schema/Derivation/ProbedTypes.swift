// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The types from which one schema is derived. Each type is probed once, with several runs of its `init(from:)`:
///
/// - One run for each of ``Placeholders/all``.
/// - One run for each read of the first run, in which that read fails. A type that continues nevertheless (`try?`)
///   accepts other values as well.
final class ProbedTypes {
    private struct Probed {
        var type: FieldType
        /// The sample values, one for each of ``Placeholders/all``; empty if there is no placeholder.
        var values: [Any]
    }

    private static let maxRefusals = 512

    private var probed: [ObjectIdentifier: Probed] = [:]
    /// The types that are being probed, outermost first.
    private var outer: [ObjectIdentifier] = []

    /// The schema of the messages that the type can be decoded from; `nil` if it is not decoded from a dictionary.
    static func schema<T: Decodable>(of type: T.Type) -> AllowedValueSchema? {
        if let described = type as? any AllowedValueSchemaProviding.Type { return described.allowedValueSchema }
        let findings = ProbedTypes().findings(of: type).findings
        return findings.isDictionary ? findings.schema : nil
    }

    /// The field type of values of `type`, and a sample value if there is a placeholder.
    func probe<T: Decodable>(_ type: T.Type, _ placeholders: Placeholders) -> (type: FieldType, value: T?) {
        if let known = placeholders.known(type) { return known }
        let id = ObjectIdentifier(type)
        if self.probed[id] == nil {
            // The type contains itself, or its nesting of types has no end.
            guard !self.outer.contains(id), self.outer.count < ValueSetLimits.deepest else { return (.any, nil) }
            let (findings, values) = self.findings(of: type)
            let described = type as? any AllowedValueSchemaProviding.Type
            self.probed[id] = Probed(
                type: described.map { .dictionary($0.allowedValueSchema) } ?? findings.fieldType,
                values: values
            )
        }
        guard let probed = self.probed[id] else { return (.any, nil) }
        return (probed.type, probed.values.isEmpty ? nil : probed.values[placeholders.index] as? T)
    }

    private func findings<T: Decodable>(of type: T.Type) -> (findings: SchemaFindings, values: [Any]) {
        self.outer.append(ObjectIdentifier(type))
        defer { self.outer.removeLast() }
        let first = SchemaProbe(self, Placeholders.all[0])
        var values = [Self.value(of: type, first)]
        var findings = first.findings
        for placeholders in Placeholders.all.dropFirst() {
            let probe = SchemaProbe(self, placeholders)
            values.append(Self.value(of: type, probe))
            findings.merge(probe.findings)
        }
        for read in 0..<min(first.reads, Self.maxRefusals) {
            let probe = SchemaProbe(self, Placeholders.all[0], refusing: read)
            let isDecoded = (try? T(from: SchemaDecoder(probe: probe))) != nil
            if isDecoded || probe.hasGoneOn { findings.merge(probe.findings) }
        }
        // Arrays may have elements without a placeholder. An empty array from another run can replace them.
        guard let substitute = values.lazy.compactMap(\.self).first else { return (findings, []) }
        return (findings, values.map { $0 ?? substitute })
    }

    private static func value<T: Decodable>(of type: T.Type, _ probe: SchemaProbe) -> T? {
        (try? T(from: SchemaDecoder(probe: probe))) ?? probe.placeholders.enumerationCase(of: type)
    }
}
