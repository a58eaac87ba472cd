// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems

/// The description of a service that `call --describe` prints.
struct ServiceDescription {
    private let service: RemoteSystemApplication.Service
    private let application: RemoteSystemApplication
    private let system: RemoteSystem

    init(
        _ service: RemoteSystemApplication.Service,
        of application: RemoteSystemApplication,
        on system: RemoteSystem
    ) {
        self.service = service
        self.application = application
        self.system = system
    }

    func report(_ output: Output) throws {
        try output.json(
            ServiceDescriptionOutput(
                service: ServiceOutput(self.service),
                application: self.application.id,
                systemID: self.system.id
            )
        )
        let title = [self.service.name, self.service.version].compactMap(\.self).joined(separator: "  ")
        try output.line(title.printable.cut(to: 80))
        if let summary = self.service.summary { try output.line(summary.printable.wrapped()) }
        let place = "Offered by \(self.application.id) on \(self.system.displayName)."
        let limits = self.service.supportsRemote ? "" : " Only programs on that system may call it."
        try output.line((place + limits).printable.wrapped())
        try output.line("\nRequest:")
        for line in Self.lines(self.service.requestSchema) { try output.line(line) }
        try output.line("\nResponse:")
        for line in Self.lines(self.service.responseSchema) { try output.line(line) }
    }

    private static func lines(_ schema: AllowedValueSchema?, indent: Int = 2) -> [String] {
        let space = String(repeating: " ", count: indent)
        guard let schema else { return [space + "(not declared)"] }
        var lines = schema.fields.map { field in
            let name = field.name.printable.padded(to: max(24, min(field.name.columns, 40)))
            return space + "\(name)  \(field.type)\(field.isRequired ? ", required" : "")".cut(to: 80 - indent)
        }
        if schema.allowsFurtherKeys {
            lines.append(space + (lines.isEmpty ? "any fields" : "and further fields"))
        } else if lines.isEmpty {
            lines.append(space + "no fields")
        }
        return lines
    }
}

/// The output of `call --describe --json`.
private struct ServiceDescriptionOutput: Encodable {
    let event = "service"
    let time = Date.now
    var service: ServiceOutput
    var application: String
    var systemID: SystemID

    private enum CodingKeys: String, CodingKey {
        case event, time, application, systemID
    }

    /// Encodes the service's fields at the top level, beside the others.
    func encode(to encoder: any Encoder) throws {
        try self.service.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.event, forKey: .event)
        try container.encode(self.time, forKey: .time)
        try container.encode(self.application, forKey: .application)
        try container.encode(self.systemID, forKey: .systemID)
    }
}
