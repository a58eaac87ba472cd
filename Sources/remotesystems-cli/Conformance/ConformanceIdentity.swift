// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems

/// Creates a system of a temporary account and writes it to files, for an implementation in another language.
enum ConformanceIdentity {
    /// Adds a system to the account in `state`, and writes its identity to files.
    ///
    /// - Parameters:
    ///   - directory: The directory of the files: `key.pem`, `certificate.pem`, `certificate.der`, `root.pem`,
    ///     `root.der` and `discovery-key`.
    ///   - state: The state directory of the account.
    static func write(to directory: String, account state: String) throws -> SystemIdentity {
        let store = AccountStore(directory: state)
        let now = Date.now
        let identity = try store.authority().makeSystem(beside: store.identity(), now: now)
        let files: [(String, Data)] = [
            ("key.pem", Data(identity.privateKeyPEM.utf8)),
            ("certificate.pem", self.pem(identity.certificate)), ("certificate.der", Data(identity.certificate)),
            ("root.pem", self.pem(identity.rootCertificate)), ("root.der", Data(identity.rootCertificate)),
            ("discovery-key", Data(identity.discoveryKey.bytes)),
        ]
        for (name, content) in files { try self.write(content, to: "\(directory)/\(name)") }
        return identity
    }

    /// Creates the directory if it does not exist.
    static func make(directory: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw Failure("localResources", "The directory \(directory) cannot be created: \(error)")
        }
    }

    private static func write(_ content: Data, to path: String) throws {
        do {
            try content.write(to: URL(filePath: path), options: .atomic)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        } catch {
            throw Failure("localResources", "The file \(path) cannot be written: \(error)")
        }
    }

    private static func pem(_ certificate: [UInt8]) -> Data {
        let text = Array(Data(certificate).base64EncodedString())
        let lines = stride(from: 0, to: text.count, by: 64).map { String(text[$0..<min($0 + 64, text.count)]) }
        return Data(
            "-----BEGIN CERTIFICATE-----\n\(lines.joined(separator: "\n"))\n-----END CERTIFICATE-----\n".utf8
        )
    }
}
