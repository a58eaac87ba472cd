// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

extension RemoteSystemApplication {
    /// Where this application is to be had, as a text to keep:
    /// ``RemoteSystemConnectionRequest/init(connectionToken:allowsAnyoneNearby:configuration:)`` connects to it later, after a restart
    /// too, without discovery.
    ///
    /// It says which application on which system is meant, whether that is of another account, and at which addresses it was.
    /// It holds no secret and opens no door: whoever uses it is asked for what it is as without. A system that got another address, or an application that listens on
    /// another port, has to be found anew.
    public var connectionToken: String {
        ConnectionToken(
            systemID: self.systemID,
            applicationID: self.id,
            endpoints: self.endpoints,
            standing: self.standing
        ).text
    }
}

extension AppServiceCaller {
    /// A text by which the caller can be called later:
    /// ``RemoteSystemConnectionRequest/init(connectionToken:allowsAnyoneNearby:configuration:)`` connects to the
    /// services that its application offers, if it runs a ``RemoteSystemHost`` or can be started by its machine's host
    /// daemon. `nil` when the caller does not say which application it is.
    ///
    /// ```swift
    /// AppService("com.example.subscribe") { request in
    ///     guard let token = request.caller.connectionToken else { throw AppServiceFailure("Which application are you?") }
    ///     try await subscribers.add(token)  // A plain string, to keep for as long as you like.
    ///     return [:]
    /// }
    /// ```
    ///
    /// It names the caller's system, which was proved, and its application, which was only said. It holds no secret, no
    /// address, and no right: whoever uses it is checked as anyone else is. Because it holds no address it stays valid
    /// when either side restarts or moves; the system is looked for when the token is used, for at most 5 s, and must
    /// be one that a ``RemoteSystemWatcher`` with the same configuration would list.
    public var connectionToken: String? {
        guard (1...256).contains(self.claimedApplicationID.utf8.count) else { return nil }
        return ConnectionToken(
            systemID: self.systemID,
            applicationID: self.claimedApplicationID,
            endpoints: [],
            standing: self.standing.kind
        ).text
    }
}

/// What a connection token says. One without addresses is for a system that is looked for when the token is used.
///
/// As text: `remote-systems-connection:`, the version, a colon, and the base64url form (RFC 4648 §5, without padding) of a
/// dictionary in the wire's encoding of values.
struct ConnectionToken: Sendable, Hashable {
    var systemID: SystemID
    var applicationID: String
    var endpoints: [Endpoint]
    /// What the system is to the one that made the token.
    var standing: Standing.Kind

    static let scheme = "remote-systems-connection"
    static let version = "1"
    /// More than this a token cannot need.
    static let maxBytes = 8 << 10
    static let maxEndpoints = 16
    static let maxHostBytes = 255
    static let maxTransportBytes = 32

    init(systemID: SystemID, applicationID: String, endpoints: [Endpoint], standing: Standing.Kind = .sameAccount) {
        self.systemID = systemID
        self.applicationID = applicationID
        self.endpoints = Array(endpoints.prefix(Self.maxEndpoints))
        self.standing = standing
    }

    var text: String {
        var message: ValueSet = [
            "System": .string(self.systemID.description),
            "Application": .string(self.applicationID),
            "Addresses": .array(
                self.endpoints.map { endpoint in
                    var address: ValueSet = ["Host": .string(endpoint.host), "Port": .integer(Int64(endpoint.port))]
                    if endpoint.transport != .ip { address["Transport"] = .string(endpoint.transport.rawValue) }
                    return .dictionary(address)
                }
            ),
        ]
        if !self.standing.isAccountProved { message["Anonymous"] = true }
        // Strings and small numbers, which always have an encoding.
        let encoded = Data((try? message.encoded()) ?? []).base64EncodedString()
        let url = encoded.prefix { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
        return "\(Self.scheme):\(Self.version):\(String(url))"
    }

    /// - Parameter network: the network on which the token is to be used.
    init(_ text: String, network: TransportNetwork = .sockets) throws(RemoteSystemError) {
        guard text.utf8.count <= Self.maxBytes else { throw Self.invalid("it is too long") }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == Self.scheme else { throw Self.invalid("it does not look like one") }
        guard parts[1] == Self.version else {
            throw Self.invalid("it is of another version than this program knows (\(Self.version))")
        }
        let url = parts[2].map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        let padded = String(url) + String(repeating: "=", count: (4 - url.count % 4) % 4)
        guard let data = Data(base64Encoded: padded), let message = try? ValueSet(encoded: data) else {
            throw Self.invalid("it is damaged; perhaps not all of it was kept")
        }
        guard let systemID = message["System"]?.string.flatMap({ SystemID($0) }),
            let application = message["Application"]?.string, application.isName,
            let addresses = message["Addresses"]?.array, addresses.count <= Self.maxEndpoints
        else { throw Self.invalid("a part of it is missing") }
        var endpoints: [Endpoint] = []
        for address in addresses {
            guard var endpoint = address.dictionary.flatMap(Self.endpoint) else {
                throw Self.invalid("an address in it is none")
            }
            endpoint.trust = .system(systemID)
            endpoints.append(endpoint)
        }
        let standing: Standing.Kind = message["Anonymous"]?.bool ?? false ? .anonymous : .sameAccount
        // Where a watcher would not have listed it, it is not looked for either.
        guard standing.isAccountProved || endpoints.allSatisfy(network.isProximal) else {
            throw Self.invalid("it is for a system of another account that is not nearby")
        }
        self.init(systemID: systemID, applicationID: application, endpoints: endpoints, standing: standing)
    }

    private static func endpoint(_ address: ValueSet) -> Endpoint? {
        let kind = address["Transport"].map { $0.string.map(TransportKind.init) } ?? .ip
        guard let kind, (1...Self.maxTransportBytes).contains(kind.rawValue.utf8.count),
            let host = address["Host"]?.string, (1...Self.maxHostBytes).contains(host.utf8.count),
            let port = address["Port"]?.int, ((kind == .ip ? 1 : 0)...65_535).contains(port)
        else { return nil }
        return Endpoint(transport: kind, host: host, port: port)
    }

    static func invalid(_ why: String) -> RemoteSystemError {
        RemoteSystemError(
            .invalidConnectionToken,
            "The connection token cannot be used: \(why). Find the application again and keep its new token.",
            side: .local
        )
    }
}
