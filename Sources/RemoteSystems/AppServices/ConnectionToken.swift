// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

extension RemoteSystemApplication {
    /// A text that identifies this application and its addresses, to connect to it later without discovery.
    ///
    /// Pass the text to ``RemoteSystemConnectionRequest/init(connectionToken:allowsAnyoneNearby:configuration:)``, even
    /// after a restart of this program. It holds the ids of the system and the application, their present addresses,
    /// and whether the system belongs to another account than this system, linked or not. It contains no secret and
    /// grants no access: a system that connects with it is authenticated as for any connection.
    ///
    /// A token becomes useless when the system gets another address or the application another port. Discover the
    /// application again and store its new token.
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
    /// A text that identifies the caller, to connect to its application later; `nil` when the caller gives no valid
    /// application id.
    ///
    /// Pass the text to ``RemoteSystemConnectionRequest/init(connectionToken:allowsAnyoneNearby:configuration:)``. The
    /// connection reaches the services that the caller's application offers, if the application runs a
    /// ``RemoteSystemHost``, or if its machine's host daemon (``InstalledApplications``) can start it.
    ///
    /// ```swift
    /// AppService("com.example.subscribe") { request in
    ///     guard let token = request.caller.connectionToken else {
    ///         throw AppServiceFailure("The caller gives no application id.")
    ///     }
    ///     try await subscribers.add(token)  // A plain string, to keep for as long as you like.
    ///     return [:]
    /// }
    /// ```
    ///
    /// The token names the caller's system, which was proved, and its application, which was only claimed. It contains
    /// no secret and grants no access: a system that connects with it is authenticated as for any connection.
    ///
    /// The token contains no address, so it stays valid when either side restarts or moves. Connecting searches for the
    /// system for at most 5 s, and finds it only if a ``RemoteSystemWatcher`` with the same configuration would list
    /// it.
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

/// The contents of a connection token: a system, an application and its addresses. If it has no addresses, the system
/// is searched for when the token is used.
///
/// The text form is `remote-systems-connection:`, the version, a colon, and the base64url form (RFC 4648 §5, without
/// padding) of a dictionary in the wire's encoding of values.
struct ConnectionToken: Sendable, Hashable {
    var systemID: SystemID
    var applicationID: String
    var endpoints: [Endpoint]
    /// The relation of the system to the one that created the token.
    var standing: Standing.Kind

    static let scheme = "remote-systems-connection"
    static let version = "1"
    /// The maximum length of a token. Valid tokens are shorter.
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
        switch self.standing {
        case .sameAccount: break
        case .linked: message["Linked"] = true
        case .anonymous: message["Anonymous"] = true
        }
        // Strings and small integers can always be encoded.
        let encoded = Data((try? message.encoded()) ?? []).base64EncodedString()
        let url = encoded.prefix { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
        return "\(Self.scheme):\(Self.version):\(String(url))"
    }

    /// Reads a token from its text.
    ///
    /// - Parameter network: the network on which the token is used.
    init(_ text: String, network: TransportNetwork = .sockets) throws(RemoteSystemError) {
        guard text.utf8.count <= Self.maxBytes else { throw Self.invalid("it is too long") }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == Self.scheme else { throw Self.invalid("it does not have the form of one") }
        guard parts[1] == Self.version else {
            throw Self.invalid("its version is not the one that this program knows (\(Self.version))")
        }
        let url = parts[2].map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        let padded = String(url) + String(repeating: "=", count: (4 - url.count % 4) % 4)
        guard let data = Data(base64Encoded: padded), let message = try? ValueSet(encoded: data) else {
            throw Self.invalid("it is damaged or incomplete")
        }
        guard let systemID = message["System"]?.string.flatMap({ SystemID($0) }),
            let application = message["Application"]?.string, application.isName,
            let addresses = message["Addresses"]?.array, addresses.count <= Self.maxEndpoints
        else { throw Self.invalid("a part of it is missing or invalid") }
        var endpoints: [Endpoint] = []
        for address in addresses {
            guard var endpoint = address.dictionary.flatMap(Self.endpoint) else {
                throw Self.invalid("one of its addresses is invalid")
            }
            endpoint.trust = .system(systemID)
            endpoints.append(endpoint)
        }
        let standing: Standing.Kind =
            if message["Anonymous"]?.bool ?? false {
                .anonymous
            } else if message["Linked"]?.bool ?? false {
                .linked
            } else {
                .sameAccount
            }
        // A watcher would not list a system of another account that is not nearby, so a token cannot name one either.
        guard standing.isAccountProved || endpoints.allSatisfy(network.isProximal) else {
            throw Self.invalid("it names a system of another account that is not nearby")
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
            "The connection token cannot be used: \(why). Find the application again and store its new token.",
            side: .local
        )
    }
}
