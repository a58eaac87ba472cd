// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

@testable import UserActivities
@testable import WebAssociations

/// Reads the input as an association file, as a signed one and as the claim of a domain.
func fuzzAssociation(_ input: [UInt8]) {
    if let file = try? AssociationFile(json: input) { check(file) }
    if let domain = try? AssociatedDomain(String(decoding: input, as: UTF8.self)) {
        require(AssociatedDomain.isHost(domain.host), "a claim has no valid host")
        require(domain.claims(domain.host) != domain.isWildcard, "a claim does not cover its host")
        require(!domain.claims("other.example") || domain.host.hasSuffix("example"), "a claim covers another host")
    }
    guard let signed = try? SignedAssociation(der: input) else { return }
    require(signed.certificates.count <= SignedAssociation.maxCertificates, "a signature has too many certificates")
    require(signed.content.count <= input.count && signed.signer.signature.count <= input.count, "content was made up")
    _ = try? signed.signer.covers(signed.content)
    if let file = try? AssociationFile(json: signed.content) { check(file) }
}

private func check(_ file: AssociationFile) {
    require(file.applications.count <= AssociationFile.maxApplications, "a file lists too many applications")
    for application in file.applications {
        require((3...AssociationFile.maxEntryBytes).contains(application.utf8.count), "an entry has no valid length")
        require(application.contains(".") && !application.contains(".."), "an entry has no publisher")
    }
}
