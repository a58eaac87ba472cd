// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import WebAssociations

/// The command `remotesystems association sign`.
struct AssociationSignCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign an association file.",
        usage: """
            remotesystems association sign <file> --key <file> --certificate <file>
              --output <file> [<options>]
            """,
        discussion: """
            Writes the file in a PKCS#7 signature (DER), which a site serves as application/pkcs7-mime. The \
            certificate is one of the site's server. 'openssl smime -verify' accepts the result. A site that serves \
            the file without a signature serves it as application/json.
            """
    )

    @Argument(help: "The association file (JSON).", completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp("The private key in PEM, without a passphrase: RSA or ECDSA.", valueName: "file"),
        completion: .file()
    )
    var key: String

    @Option(
        help: ArgumentHelp(
            "The certificates in PEM: that of the key, then those of its authorities.",
            valueName: "file"
        ),
        completion: .file()
    )
    var certificate: String

    @Option(
        help: ArgumentHelp("The file to write.", valueName: "file"),
        completion: .file()
    )
    var output: String

    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let content = try Input.file(self.file, limit: AssociationFile.maxBytes)
        let (key, certificates) = (try Self.text(self.key), try Self.text(self.certificate))
        let (der, hosts) = try SignedAssociation.sign(content, key: key, certificates: certificates)
        do {
            try Data(der).write(to: URL(filePath: self.output), options: .atomic)
        } catch {
            throw Failure(
                "localResources",
                "\(self.output) cannot be written. Check that its directory exists, its permissions, and the space "
                    + "on its disk."
            )
        }
        let file = try AssociationFile(json: content)
        try output.json(
            SignedOutput(file: self.output, bytes: der.count, applications: file.applications.sorted(), hosts: hosts)
        )
        try output.line(
            "Signed for \(hosts.isEmpty ? "no host" : hosts.joined(separator: ", ")): \(file.applications.count) "
                + "applications in \(self.output)".printable
        )
        if hosts.isEmpty { output.note("The certificate names no host, so no system will accept the file.") }
        return true
    }

    private static func text(_ path: String) throws -> String {
        String(decoding: try Input.file(path, limit: AssociationFile.maxBytes), as: UTF8.self)
    }
}

/// The output of `association sign --json`.
private struct SignedOutput: Encodable {
    let event = "signed"
    let time = Date.now
    var file: String
    var bytes: Int
    var applications: [String]
    var hosts: [String]
}
