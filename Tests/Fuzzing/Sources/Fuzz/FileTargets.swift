// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ValueSets

@testable import RemoteSystems
@testable import RemoteSystemsDesktop
@testable import RemoteSystemsDiscovery
@testable import RemoteSystemsIdentity

/// Reads the input as the manifest of an installed application, and verifies its publisher's signature.
func fuzzManifest(_ input: [UInt8]) {
    if let signature = try? ManifestSignature(of: input) {
        // Only the publisher can make one, so it is that of a seed, in another layout.
        require((1...PublisherChain.maxKeys).contains(signature.keys), "a chain of keys is out of bounds")
    }
    struct Name: Decodable { var id: String }
    let id = (try? JSONDecoder().decode(Name.self, from: Data(input)))?.id ?? "com.example.app"
    let file = ConfigurationFile(path: "/etc/\(id).json", bytes: input)
    let lines = input.count { $0 == UInt8(ascii: "\n") } + 1
    var problems: [ConfigurationFileError] = []
    let manifest = ApplicationManifest.read(file, problems: &problems)
    check(problems, lines: lines)
    guard let manifest else { return require(!problems.isEmpty, "a manifest is refused without a problem") }
    require(problems.isEmpty, "a manifest with a problem is accepted")
    check(manifest.warnings, lines: lines)
    let application = manifest.application
    require(ApplicationManifest.isID(application.id) && application.id == id, "an id is malformed")
    require(!application.id.hasPrefix("remote-systems."), "an id is reserved")
    require(application.services.count <= 256 && application.uriSchemes.count <= 256, "a manifest offers too much")
    require(Set(application.services.map(\.name)).count == application.services.count, "a service is there twice")
    require(application.services.allSatisfy { $0.name.isName }, "a service's name is malformed")
    require(application.uriSchemes.allSatisfy { LaunchURI.isScheme($0) }, "a scheme is malformed")
    if case .exec(let arguments) = manifest.start {
        require(arguments.first?.hasPrefix("/") == true, "a program is searched for")
        require(arguments.count <= 64 && !arguments.contains { $0.utf8.contains(0) }, "arguments are out of bounds")
    }
}

private func check(_ problems: [ConfigurationFileError], lines: Int) {
    for problem in problems {
        if let line = problem.line { require((1...lines).contains(line), "line \(line) of \(lines)") }
        require(!problem.message.isEmpty, "a problem says nothing")
    }
}

/// A configuration file with keys of all kinds, as the host's.
private struct Settings: Decodable {
    enum Key: String, CodingKey, CaseIterable {
        case name, port, timeout, loopback, peers, rules
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.strictContainer(keyedBy: Key.self)
        _ = try decoder.attempt(nil) { try container.textIfPresent(.name) }
        _ = try decoder.attempt(0) { container.contains(.port) ? try container.wholeNumber(.port) : 0 }
        _ = try decoder.attempt(0) { try container.decodeIfPresent(Double.self, forKey: .timeout) ?? 0 }
        _ = try decoder.attempt(false) { try container.decodeIfPresent(Bool.self, forKey: .loopback) ?? false }
        _ = try decoder.attempt([]) { try container.decodeIfPresent([String].self, forKey: .peers) ?? [] }
        _ = try decoder.attempt([:]) {
            try container.decodeIfPresent([String: URISchemePolicy.Rule].self, forKey: .rules) ?? [:]
        }
    }
}

/// Reads the input as a configuration file, as the file of known endpoints, as Avahi's configuration, as the address of
/// a static peer, and as the rules of a firewall.
func fuzzConfiguration(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    var problems: [ConfigurationFileError] = []
    let settings = ConfigurationFile(path: "/etc/host.json", bytes: input).decode(Settings.self, problems: &problems)
    check(problems, lines: input.count { $0 == UInt8(ascii: "\n") } + 1)
    require((settings == nil) == !problems.isEmpty, "a file with a problem is used, or one without is not")

    if var known = try? KnownEndpoints(file: input) {
        require(known.systems.count <= KnownEndpoints.maxSystems, "too many systems are known")
        let endpoints = known.systems.values.reduce(0) { $0 + $1.count }
        require(endpoints <= KnownEndpoints.maxEndpoints, "too many endpoints are known")
        guard let file = try? known.file(), let again = try? KnownEndpoints(file: file) else {
            broken("known endpoints cannot be stored")
        }
        require(again == known, "known endpoints changed")
        known.dropOld(now: 1_790_000_000)
        _ = known.processes { _ in ["network"] }
    }

    let avahi = AvahiDaemonSettings(text)
    _ = avahi.uses("eth0")

    if let peer = try? StaticPeer(text) {
        require((1...65_535).contains(peer.port), "a static peer has an impossible port")
        require((try? StaticPeer(peer.description)) == peer, "a static peer changed")
    }
}
