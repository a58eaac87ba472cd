// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

@testable import RemoteSystems
@testable import RemoteSystemsTransport
@testable import ValueSets

/// Reads the input as a dictionary of records of the topic `presence`, as a subscriber keeps them.
func fuzzDescription(_ input: [UInt8]) {
    guard let set = try? ValueSet(encoded: input) else { return }
    var records: [StateKey: ValueSet] = [:]
    for (key, value) in set {
        let key = StateKey(key)
        guard let record = value.dictionary, key.isValid else { continue }
        if PresenceTopic.schema.accepts(record, for: key) { records[key] = record }
    }
    _ = (TrustTopic.presented(in: records), TrustTopic.links(in: records))
    guard let description = SystemDescription(records) else { return }
    check(description)
    // What is described can be published, and gives the same description again.
    let published = description.records
    for (key, record) in published.records {
        require(key.isValid && PresenceTopic.schema.accepts(record, for: key), "a description has an invalid record")
    }
    guard published.isComplete else { return }
    guard let again = SystemDescription(published.records) else { broken("a description cannot be read again") }
    require(again == description, "a description changed:\n\(description)\n\(again)")
}

private func check(_ description: SystemDescription) {
    require(description.installed.count <= SystemDescription.maxInstalled, "too many installed applications")
    require(description.running.count + description.programs.count <= SystemDescription.maxRunning, "too many programs")
    checkText(description.displayName)
    for application in [description.application] + description.installed + description.programs.map(\.application) {
        require(application.id.isName, "an application's id is malformed")
        checkText(application.displayName)
        require(application.attributes.count <= SystemDescription.maxAttributes, "too many attributes")
        require(application.services.count <= SystemDescription.maxServices, "too many services")
        require(application.uriSchemes.count <= SystemDescription.maxSchemes, "too many schemes")
        for service in application.services {
            require(service.name.isName, "a service's name is malformed")
            if let summary = service.summary { checkText(summary) }
        }
    }
    for program in description.programs { require((1...65_535).contains(program.port), "an impossible port") }
}

private func checkText(_ text: String) {
    require(text.utf8.count <= SystemDescription.maxTextBytes && !text.hasControlCharacters, "a text is unsafe")
}
