// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

@Suite struct InvitationTests {
    let account = AccountID(of: P256.Signing.PrivateKey().publicKey)

    private func invitation(_ addresses: [Invitation.Address] = [.init(host: "192.0.2.7", port: 4711)]) throws
        -> Invitation
    {
        try Invitation(accountID: self.account, addresses: addresses, now: noon)
    }

    @Test func `an invitation survives its conversion to text`() throws {
        let invitation = try self.invitation([
            .init(host: "192.0.2.7", port: 4711), .init(host: "2001:db8::1", port: 1),
            .init(host: "fe80::1%eth0", port: 65535),
            .init(host: "living-room.local", port: 80),
        ])
        #expect(try Invitation(uri: invitation.uri) == invitation)
        #expect(try Invitation(uri: "  \(invitation.uri)\n") == invitation)
        #expect(invitation.expiry == noon.addingTimeInterval(600))
    }

    @Test func `two invitations have different secrets`() throws {
        let invitation = try self.invitation()
        #expect(try invitation.secret != self.invitation().secret)
        #expect(invitation.secret.revealed.count == 26)
    }

    @Test func `no description of an invitation shows its secret`() throws {
        let invitation = try self.invitation()
        var text = "\(invitation) \(String(reflecting: invitation)) \(OpenInvitation(invitation))"
        dump(invitation, to: &text)
        dump(OpenInvitation(invitation), to: &text)
        text += "\(invitation.secret) \(String(reflecting: invitation.secret))"
        dump(invitation.secret, to: &text)
        #expect(!text.contains(invitation.secret.revealed))
        #expect(!text.contains("bytes"))
    }

    /// Parts of a valid text and their faulty replacements.
    static let faults: [(part: String, replacement: String)] = [
        ("remote-systems://join?", "https://join?"),
        ("remote-systems://join?", "remote-systems://join/?"),
        ("remote-systems://join?", ""),
        ("v=1", "v=2"),
        ("v=1", "v="),
        ("v=1&", ""),
        ("v=1", "v=1&v=1"),
        ("account=", "account=a"),
        ("account=", "other="),
        ("expires=", "expires=x"),
        ("expires=", "expires=-"),
        ("expires=", "expires=99999999999999999999"),
        ("secret=", "secret=a"),
        ("secret=", "Secret="),
        ("address=", "adress="),
        ("address=192.0.2.7:4711", "address="),
        ("address=192.0.2.7:4711", "address=192.0.2.7"),
        ("address=192.0.2.7:4711", "address=192.0.2.7:0"),
        ("address=192.0.2.7:4711", "address=192.0.2.7:65536"),
        ("address=192.0.2.7:4711", "address=192.0.2.7:+1"),
        ("address=192.0.2.7:4711", "address=:4711"),
        ("address=192.0.2.7:4711", "address=2001:db8::1:4711"),
        ("address=192.0.2.7:4711", "address=[192.0.2.7]:4711"),
        ("address=192.0.2.7:4711", "address=a%20b:4711"),
        ("address=192.0.2.7:4711", "address=$(reboot):4711"),
        ("address=192.0.2.7:4711", "address=\(String(repeating: "a", count: 256)):4711"),
        ("address=192.0.2.7:4711", (0..<9).map { "address=a:\($0 + 1)" }.joined(separator: "&")),
        ("address=192.0.2.7:4711", "address=\(String(repeating: "a", count: 10_000)):4711"),
        ("address=192.0.2.7:4711", "address=a:1#fragment"),
    ]

    @Test(arguments: Self.faults)
    func `a faulty text is refused without repeating it`(part: String, replacement: String) throws {
        let invitation = try self.invitation()
        let text = invitation.uri.replacing(part, with: replacement)
        try #require(text != invitation.uri)
        let error = #expect(throws: IdentityError.self) { try Invitation(uri: text) }
        #expect(error?.code == .invitationMalformed)
        #expect(error?.message.contains(invitation.secret.revealed) == false)
        #expect(error?.debugDescription.contains(invitation.secret.revealed) == false)
    }

    @Test func `a wrong last character of the secret is called a mistake, and no text is none`() throws {
        // 26 characters hold 130 bits, of which the last two are 0. So some characters cannot be the last one.
        let text = try self.invitation().uri
        let error = #expect(throws: IdentityError.self) { try Invitation(uri: String(text.dropLast()) + "b") }
        #expect(error?.message.contains("its secret was mistyped or cut") == true)
        let cut = #expect(throws: IdentityError.self) { try Invitation(uri: String(text.dropLast())) }
        #expect(cut?.message.contains("its secret was mistyped or cut") == true)
        let none = #expect(throws: IdentityError.self) { try Invitation(uri: " \n") }
        #expect(none?.message.contains("no invitation was given") == true)
    }

    @Test(arguments: ["", " ", "join", "remote-systems://join", "remote-systems://join?", "remote-systems://join?%"])
    func `text that is not an invitation is refused`(text: String) {
        let error = #expect(throws: IdentityError.self) { try Invitation(uri: text) }
        #expect(error?.code == .invitationMalformed)
    }

    @Test func `an unknown further part is ignored`() throws {
        let invitation = try self.invitation()
        #expect(try Invitation(uri: invitation.uri + "&hint=x") == invitation)
    }

    @Test func `an invitation that could not be used is not created`() {
        #expect(throws: IdentityError.self) { try self.invitation([]) }
        #expect(throws: IdentityError.self) { try self.invitation([.init(host: "", port: 1)]) }
        #expect(throws: IdentityError.self) { try self.invitation([.init(host: "a", port: 0)]) }
    }

    @Test func `an invitation ends after ten minutes, and the error states it`() throws {
        let invitation = try self.invitation()
        try invitation.checkTime(noon.addingTimeInterval(599))
        let error = #expect(throws: IdentityError.self) { try invitation.checkTime(noon.addingTimeInterval(600)) }
        #expect(error?.code == .invitationExpired)
        #expect(error?.message.contains("make a new invitation") == true)
    }
}
