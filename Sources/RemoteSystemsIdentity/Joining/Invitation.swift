// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// A one-time invitation into an account, as a text to carry to the machine that joins.
///
/// The first machine that uses the text within ten minutes becomes a system of the account. Treat the text like a
/// password until then; afterwards it is worthless. `RemoteSystemsAccount.invite(hosts:port:_:)` and
/// `remotesystems account invite` create invitations.
public struct Invitation: Hashable, Sendable {
    /// An address on which the inviting system listens for the joining system.
    public struct Address: Hashable, Sendable, CustomStringConvertible {
        /// A host name or an IP address. IPv6 addresses have no brackets, and keep their zone if they have one.
        public var host: String
        /// A TCP port. Valid range: 1–65535.
        public var port: UInt16

        /// Creates an address to connect to.
        ///
        /// - Parameters:
        ///   - host: A host name or an IP address, without brackets.
        ///   - port: A TCP port. Valid range: 1–65535.
        public init(host: String, port: UInt16) {
            self.host = host
            self.port = port
        }

        /// `host:port`, with brackets around IPv6.
        public var description: String {
            self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
        }
    }

    /// The time for which an invitation is valid, in seconds: 600.
    public static let life: TimeInterval = 600

    /// The account that the joining system will belong to. The joining system checks that the inviting system belongs
    /// to it.
    public let accountID: AccountID

    /// The addresses to connect to, most promising first. Valid count: 1–8.
    public let addresses: [Address]

    /// The time at which the invitation expires, by the inviting machine's clock.
    public let expiry: Date

    let secret: InvitationSecret

    /// Creates a new invitation into `accountID`.
    ///
    /// - Throws: ``IdentityError/Code/invitationMalformed`` unless there are one to eight usable addresses.
    package init(accountID: AccountID, addresses: [Address], now: Date) throws(IdentityError) {
        // Whole seconds, as in the text, so that an invitation equals the one read back from its text.
        let expiry = Date(timeIntervalSince1970: (now.timeIntervalSince1970 + Self.life).rounded(.down))
        try self.init(accountID: accountID, addresses: addresses, expiry: expiry, secret: InvitationSecret())
    }

    private init(
        accountID: AccountID,
        addresses: [Address],
        expiry: Date,
        secret: InvitationSecret
    ) throws(IdentityError) {
        guard (1...Self.maxAddresses).contains(addresses.count) else {
            throw .malformedInvitation("it needs one to \(Self.maxAddresses) addresses")
        }
        guard addresses.allSatisfy(\.isUsable) else {
            throw .malformedInvitation("an address is not a host and a port")
        }
        self.accountID = accountID
        self.addresses = addresses
        self.expiry = expiry
        self.secret = secret
    }

    /// Refuses an expired invitation.
    package func checkTime(_ now: Date) throws(IdentityError) {
        guard now < self.expiry else {
            throw IdentityError(
                .invitationExpired,
                """
                The invitation expired at \(self.expiry.formatted(.iso8601)), and this machine's clock says \
                \(now.formatted(.iso8601)). If the clock is right, make a new invitation; each is valid for ten minutes.
                """
            )
        }
    }
}

// MARK: Text

extension Invitation {
    private static let start = "remote-systems://join?"
    private static let version = "1"
    private static let maxAddresses = 8
    private static let longestText = 4096

    /// The invitation as a text, `remote-systems://join?v=1&account=…&address=…&expires=…&secret=…`.
    ///
    /// It holds the secret: show it only to the person who asked for it. ``description`` does not hold the secret.
    public var uri: String {
        var components = URLComponents()
        components.queryItems =
            [URLQueryItem(name: "v", value: Self.version)]
            + [URLQueryItem(name: "account", value: self.accountID.description)]
            + self.addresses.map { URLQueryItem(name: "address", value: $0.description) }
            + [URLQueryItem(name: "expires", value: String(Int64(self.expiry.timeIntervalSince1970)))]
            + [URLQueryItem(name: "secret", value: self.secret.revealed)]
        return Self.start + (components.percentEncodedQuery ?? "")
    }

    /// Reads an invitation from its text. Ignores white space around the text.
    ///
    /// - Parameter text: The ``uri`` of an invitation.
    /// - Throws: ``IdentityError`` with ``IdentityError/Code/invitationMalformed``. The message states what is wrong
    ///   and does not repeat the text.
    public init(uri text: String) throws(IdentityError) {
        guard text.utf8.count <= Self.longestText else { throw .malformedInvitation("it is too long") }
        let text = text.drop(while: \.isWhitespace).trimmingSuffix(while: \.isWhitespace)
        guard !text.isEmpty else { throw .malformedInvitation("no invitation was given") }
        guard text.hasPrefix(Self.start) else { throw .malformedInvitation("it does not begin with \(Self.start)") }
        let query = text.dropFirst(Self.start.count)
        guard !query.contains("#") else { throw .malformedInvitation("it has a '#'") }
        // Not URLComponents: it encodes each '%' a second time if the text has other characters that need encoding,
        // such as '['.
        let items = query.split(separator: "&", omittingEmptySubsequences: false).map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (name: parts[0], value: parts.count == 2 ? parts[1] : "")
        }

        func values(_ name: String) throws(IdentityError) -> [String] {
            var values: [String] = []
            for item in items where item.name == name {
                guard let value = item.value.percentDecoded else {
                    throw .malformedInvitation("its '\(name)' is not percent-encoded")
                }
                values.append(value)
            }
            return values
        }
        func one(_ name: String) throws(IdentityError) -> String {
            let values = try values(name)
            guard let value = values.first, values.count == 1 else {
                throw .malformedInvitation("it should have exactly one '\(name)'")
            }
            return value
        }

        // The version is checked first: the rest of a later version's text may have another form.
        guard try one("v") == Self.version else {
            throw .malformedInvitation("a newer version made it, so this software has to be updated")
        }
        guard let account = AccountID(try one("account")) else {
            throw .malformedInvitation("its account was mistyped or cut")
        }
        guard let seconds = Int64(digits: try one("expires")), (0...253_402_300_799).contains(seconds) else {
            throw .malformedInvitation("its expiry is not a time in seconds since 1970")
        }
        guard let secret = InvitationSecret(text: try one("secret")) else {
            throw .malformedInvitation("its secret was mistyped or cut")
        }
        let texts = try values("address")
        let addresses = texts.compactMap(Address.init(text:))
        guard addresses.count == texts.count else {
            throw .malformedInvitation("an address is not a host and a port")
        }
        try self.init(
            accountID: account,
            addresses: addresses,
            expiry: Date(timeIntervalSince1970: TimeInterval(seconds)),
            secret: secret
        )
    }
}

extension Invitation: CustomStringConvertible, CustomReflectable {
    /// The account's short id and the expiry, without the secret.
    public var description: String {
        "invitation into account \(self.accountID.short) until \(self.expiry.formatted(.iso8601))"
    }

    /// The parts without the secret, so that `dump` does not show it.
    public var customMirror: Mirror {
        Mirror(self, children: ["accountID": self.accountID, "addresses": self.addresses, "expiry": self.expiry])
    }
}

extension Invitation.Address {
    fileprivate init?(text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(digits: text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil
        }
        self.init(host: String(host), port: port)
        guard self.isUsable else { return nil }
    }

    /// Whether the host has only characters of host names, IP addresses and zones, and the port is not 0.
    fileprivate var isUsable: Bool {
        self.port != 0
            && (1...255).contains(self.host.utf8.count)
            && self.host.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
                    UInt8(ascii: ":"), UInt8(ascii: "%"):
                    true
                default:
                    false
                }
            }
    }
}

extension FixedWidthInteger {
    /// Parses digits only. Swift's own parser also accepts a sign.
    fileprivate init?(digits: some StringProtocol) {
        guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        self.init(digits)
    }
}

extension StringProtocol {
    /// The decoded text; `nil` if a '%' is not followed by two hexadecimal digits, or if the bytes are not UTF-8.
    fileprivate var percentDecoded: String? {
        var bytes: [UInt8] = []
        var rest = Array(self.utf8)[...]
        func digit() -> UInt8? {
            rest.popFirst().flatMap { Character(Unicode.Scalar($0)).hexDigitValue }.map { UInt8($0) }
        }
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = digit(), let low = digit() else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> SubSequence {
        var end = self.endIndex
        while end > self.startIndex, predicate(self[self.index(before: end)]) {
            end = self.index(before: end)
        }
        return self[..<end]
    }
}

extension IdentityError {
    fileprivate static func malformedInvitation(_ what: String) -> IdentityError {
        IdentityError(
            .invitationMalformed,
            """
            This is not a usable invitation: \(what). Enter the whole line that begins with 'remote-systems:', as \
            'remotesystems account invite' prints it on the other machine.
            """
        )
    }
}
