// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems app keygen`.
struct AppKeygenCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "keygen",
        abstract: "Create a publisher's key.",
        usage: "remotesystems app keygen <file> [<options>]",
        discussion: """
            The publisher's id is that of its first key. A successor keeps the id: applications that were signed with \
            either key have the same publisher. Keep the file, and a copy in another place: without it, new \
            versions of the applications cannot be signed.

            A publisher has at most 16 keys. A stolen key cannot be revoked: create a new publisher then, and sign \
            every application again.
            """
    )

    @Argument(help: "The file to create. It must not exist. Only this user can read it.", completion: .file())
    var file: String

    @Flag(help: "Encrypt the key with a passphrase.")
    var encrypt = false

    @Option(
        name: .customLong("successor-of"),
        help: ArgumentHelp("Replace the key in this file. The publisher's id stays the same.", valueName: "file"),
        completion: .file()
    )
    var predecessor: String?

    @OptionGroup var passphrase: PassphraseOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        var key = PublisherKey()
        if let predecessor {
            key = try PublisherKey.read(predecessor, passphrase: self.passphrase.reading(predecessor)).successor()
        }
        let isEncrypted = self.encrypt || self.passphrase.file != nil
        let phrase = isEncrypted ? try self.passphrase.read(asNew: true) : nil
        try key.write(to: self.file, passphrase: phrase)
        try output.json(KeyOutput(key, file: self.file, isEncrypted: isEncrypted))
        try output.line("Publisher \(key.chain.id)")
        output.note(
            "\(key.chain.count == 1 ? "The key was" : "Key \(key.chain.count) was") written to "
                + "\(self.file.printable)\(isEncrypted ? ", encrypted" : ""). Keep a copy in another place."
        )
        return true
    }
}

/// The output of `app keygen --json`.
private struct KeyOutput: Encodable {
    let event = "key"
    let time = Date.now
    var publisher: PublisherID
    var number: Int
    var file: String
    var encrypted: Bool

    init(_ key: PublisherKey, file: String, isEncrypted: Bool) {
        self.publisher = key.chain.id
        self.number = key.chain.count
        self.file = file
        self.encrypted = isEncrypted
    }
}

extension PassphraseOptions {
    /// Reads the passphrase of an existing file when it is needed.
    func reading(_ path: String) -> () throws(Failure) -> [UInt8] {
        { () throws(Failure) in try self.read(asNew: false) }
    }
}
