// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

@testable import RemoteSystems
@testable import RemoteSystemsDesktop
@testable import RemoteSystemsDiscovery
@testable import RemoteSystemsIdentity
@testable import ValueSets

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

/// Reads the input as the host daemon's configuration file, as the file of known endpoints, as Avahi's configuration,
/// and as the address of a static peer.
func fuzzConfiguration(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    checkHostFile(ConfigurationFile(path: "/etc/host.json", bytes: input))

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

private func checkHostFile(_ file: ConfigurationFile) {
    var problems: [ConfigurationFileError] = []
    let content = file.decodeWhatIsValid(HostFile.self, problems: &problems)
    check(problems, lines: file.bytes.count { $0 == UInt8(ascii: "\n") } + 1)
    guard let content else { return require(!problems.isEmpty, "a file is refused without a problem") }
    var furtherProblems: [ConfigurationFileError] = []
    let isUsed = file.decode(HostFile.self, problems: &furtherProblems) != nil
    require(isUsed == problems.isEmpty, "a file with a problem is used, or one without is not")
    var settings = HostSettings()
    for (setting, value) in content.values {
        let before = settings
        do throws(HostSettings.NotTaken) {
            try settings.set(setting, value)
            let once = settings
            try settings.set(setting, value)
            require(settings == once, "a setting depends on the one before")
        } catch {
            require(settings == before, "a value that is refused changes a setting")
            require(!(error.text ?? setting.takes).hasControlCharacters, "a problem shows control characters")
        }
    }
    check(settings)
}

private func check(_ settings: HostSettings) {
    require((0...65_535).contains(settings.port), "the port is impossible")
    require(settings.stateDirectory?.hasPrefix("/") != false, "the state directory depends on the current one")
    require(settings.displayName?.isName != false, "the name of the system is unsafe")
    require(
        (Duration.milliseconds(100)...Duration.seconds(300)).contains(settings.startTimeout),
        "the time to start is out of bounds"
    )
    require(
        (Duration.seconds(1)...Duration.seconds(300)).contains(settings.askTimeout),
        "the time to ask is out of bounds"
    )
    require((0...43_200).contains(settings.snoozeMinutes), "the time to snooze is out of bounds")
    require(settings.uriPolicy.count <= 256, "there are too many rules")
    for scheme in settings.uriPolicy.keys {
        require(scheme == "*" || LaunchURI.isScheme(scheme), "a rule has no scheme")
        require(scheme == scheme.lowercased(), "a rule matches no scheme")
    }
    if let program = settings.askProgram {
        require(program.first?.hasPrefix("/") == true && program.count <= 64, "the asking program is searched for")
        require(!program.contains { $0.utf8.contains(0) }, "an argument is cut off")
    }
    require(settings.documentRoots.values.allSatisfy { $0.hasPrefix("/") }, "a folder depends on the current one")
    require(settings.mirroredApplications.count <= MirrorRules.maxApplications, "too many applications are mirrored")
    require(settings.mirroredApplications.allSatisfy(\.isName), "the name of an application is unsafe")
}
