// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// The command `remotesystems topic`.
struct TopicCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "topic",
        abstract: "Explain topics of several subcommands: the fields of --json, exit statuses, files.",
        usage: "remotesystems topic [<topic>]",
        discussion: """
            Topics: \(Topic.allCases.map(\.rawValue).joined(separator: ", ")). Without a topic, lists the topics. \
            'remotesystems help SUBCOMMAND' explains a subcommand.
            """
    )

    @Argument(
        help: "The topic to explain.",
        completion: .list(Topic.allCases.map(\.rawValue))
    )
    var topic: String?

    @OptionGroup var common: CommonOptions

    // The parser's own error would not suggest a similar topic.
    func validate() throws {
        guard let topic, Topic(rawValue: topic) == nil else { return }
        let names = Topic.allCases.map(\.rawValue)
        let question = SimilarNames.question(for: topic, among: names)
        throw ValidationError("There is no topic '\(topic)'. Topics: \(NameList.text(names)).\(question)")
    }

    func perform(_ output: Output) async throws -> Bool {
        guard let topic = self.topic.flatMap(Topic.init) else {
            for topic in Topic.allCases {
                try output.json(TopicOutput(topic: topic, text: topic.summary))
                try output.line("\(topic.rawValue.padded(to: 14))\(topic.summary)")
            }
            return true
        }
        try output.json(TopicOutput(topic: topic, text: topic.text))
        try output.line(topic.text)
        return true
    }
}

/// The output of `topic --json`.
private struct TopicOutput: Encodable {
    let event = "topic"
    var topic: Topic
    var text: String
}
