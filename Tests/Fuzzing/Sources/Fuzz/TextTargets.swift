// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystemsIdentity

@testable import RemoteSystems
@testable import RemoteSystemsDesktop
@testable import RemoteSystemsTransport
@testable import ValueSets

/// Reads the input as the text of an invitation.
func fuzzInvitation(_ input: [UInt8]) {
    guard let invitation = try? Invitation(uri: String(decoding: input, as: UTF8.self)) else { return }
    require((1...8).contains(invitation.addresses.count), "an invitation has no address, or too many")
    for address in invitation.addresses {
        require(address.port > 0 && !address.host.isEmpty, "an invitation has an unusable address")
        require(!address.description.hasControlCharacters, "an address has control characters")
    }
    guard let again = try? Invitation(uri: invitation.uri) else { broken("an invitation's own text is refused") }
    require(again == invitation && again.uri == invitation.uri, "an invitation changed")
    // The secret is nowhere but in the URI.
    guard let secret = invitation.uri.split(separator: "=").last else { broken("a URI without a secret") }
    require(!"\(invitation)".contains(secret), "a description shows the secret")
}

/// Reads the input as a connection token.
func fuzzToken(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    guard let token = try? ConnectionToken(text) else { return }
    require(token.applicationID.isName, "a token's application is no name")
    require(token.endpoints.count <= ConnectionToken.maxEndpoints, "a token has too many endpoints")
    for endpoint in token.endpoints {
        require((0...65_535).contains(endpoint.port), "a token has an impossible port")
        require(endpoint.trust == .system(token.systemID), "an endpoint of a token is for any system")
        require(endpoint.host.utf8.count <= ConnectionToken.maxHostBytes, "a token has too long a host")
    }
    guard let again = try? ConnectionToken(token.text) else { broken("a token's own text is refused") }
    require(again == token && again.text == token.text, "a token changed")
}

/// Reads the input as a URI to open.
func fuzzLaunchURI(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    guard let uri = try? LaunchURI(text) else { return }
    require(uri.description == text, "a URI changed")
    require(text.utf8.count <= LaunchURI.maxBytes, "a URI is too long")
    require(LaunchURI.isScheme(uri.scheme) && text.lowercased().hasPrefix(uri.scheme + ":"), "a scheme is wrong")
    require(text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"<>\\^`{|}".utf8.contains($0) }, "a bad character")
    require(!text.contains("%00"), "an encoded NUL")
    require((try? LaunchURI(uri.description)) == uri, "a URI is refused the second time")
    // A policy's decision does not depend on the spelling.
    let upper = URISchemePolicy.standard.rule(for: uri.scheme.uppercased())
    require(upper == URISchemePolicy.standard.rule(for: uri.scheme), "a rule depends on upper and lower case")
    _ = MailtoURI.wantsAttachment(uri)
}

/// Reads the input as a URI, a desktop entry's icon, name and file, and the arguments of its `Exec`, in lines.
func fuzzExecLine(_ input: [UInt8]) {
    let lines = String(decoding: input, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        .map(String.init)
    guard lines.count > 4 else { return }
    let uri = try? LaunchURI(lines[0])
    var entry = DesktopEntry(id: "com.example.app.desktop", name: lines[2])
    entry.icon = lines[1].isEmpty ? nil : lines[1]
    entry.file = lines[3].isEmpty ? nil : lines[3]
    let template = Array(lines[4...])
    guard let arguments = try? ExecLine.arguments(template, for: uri, entry: entry) else { return }
    require(arguments.first == template.first && !arguments[0].isEmpty, "another program would start")
    require(arguments.count <= 2 * template.count, "there are more arguments than the line can give")
    guard let uri else { return }
    // The URI is one whole argument, or the end or middle of one, and nothing that the template did not have is added.
    let marker = "x-marker:1"
    guard !template.contains(where: { $0.contains("marker") }) else { return }
    guard let plain = try? LaunchURI(marker),
        let same = try? ExecLine.arguments(template, for: plain, entry: entry), same.count == arguments.count
    else { broken("the number of arguments depends on the URI") }
    let differing = zip(same, arguments).filter { $0 != $1 }
    require(differing.count <= 1, "the URI is part of several arguments")
    if let (before, after) = differing.first {
        require(before.replacing(marker, with: uri.description) == after, "the URI changed an argument")
    }
}
