// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport

extension TwoBuses {
    /// Registers an application with a signed manifest. A manifest with the same id is replaced.
    ///
    /// - Parameters:
    ///   - more: the members of the manifest beside `id`, as JSON.
    ///   - key: the file with the publisher's key.
    func register(_ id: String, _ more: String, key: String) async throws {
        let manifest = "\(self.desktop.directory)/\(id).json"
        try? FileManager.default.removeItem(atPath: manifest)
        try #"{"id": "\#(id)", \#(more)}"#.write(toFile: manifest, atomically: true, encoding: .utf8)
        for arguments in [["sign", manifest, "--key", key], ["register", manifest, "--replace"]] {
            try await run([try builtProgram("remotesystems"), "app"] + arguments, environment: self.environment)
        }
    }

    /// Waits until an offer is listed whose publisher the origin's daemon states with a proof.
    ///
    /// - Parameters:
    ///   - proof: `proven` or `unproven`.
    ///   - command: `list` for the offers of other systems, which is the default, or `current` for those of this one.
    func lists(_ title: String, proof: String, of command: String = "list") async throws {
        let parts = [#""title":"\#(title)""#, #""proof":"\#(proof)""#, #""publisher":""#]
        var last: [String] = []
        do {
            _ = try await eventually("\(title), \(proof)", within: .seconds(60), every: .milliseconds(500)) {
                () async throws -> Bool? in
                let listing = try self.start([
                    try builtProgram("remotesystems"), "activities", command, "--loopback", "--json",
                ])
                _ = try await listing.exit(within: .seconds(60))
                last = listing.lines
                return last.contains { line in parts.allSatisfy { line.contains($0) } } ? true : nil
            }
        } catch {
            throw IntegrationError("\(error); listed: \(last)")
        }
    }
}
