// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// A message that passes a ``StagedLink``.
public struct StagedMessage: Sendable {
    /// The kind of a message.
    public enum Kind: Sendable, Hashable {
        /// From a caller to a service, or pushed by a service to its caller.
        case request
        /// A response to a request.
        case response
    }

    /// Whether the message is a request or a response.
    public let kind: Kind
    /// The name of the service whose connection carries the message.
    public let service: String
    /// The values that the message holds.
    public let content: ValueSet
    /// The direction, seen from the system of the link.
    public internal(set) var direction: StagedLink.Direction

    init(kind: Kind, service: String, content: ValueSet, direction: StagedLink.Direction) {
        self.kind = kind
        self.service = service
        self.content = content
        self.direction = direction
    }
}

/// Selects the message of a link to which a fault applies.
///
/// Messages are counted from the moment when the fault is set, over all connections with the system. Messages of the
/// library's own services, with which systems describe themselves, count only if the service is named.
public struct StagedMessageSelector: Sendable {
    let number: Int
    private let condition: @Sendable (StagedMessage) -> Bool

    private init(_ number: Int, _ condition: @escaping @Sendable (StagedMessage) -> Bool) {
        self.number = max(number, 1)
        self.condition = condition
    }

    func matches(_ message: StagedMessage) -> Bool { self.condition(message) }

    /// Selects a request, to the system or from it.
    ///
    /// - Parameters:
    ///   - number: The number of the request, counted from 1. Defaults to 1. A value less than 1 counts as 1.
    ///   - service: The name of the service. Defaults to any of an application's services.
    public static func request(_ number: Int = 1, of service: String? = nil) -> StagedMessageSelector {
        StagedMessageSelector(number) { $0.kind == .request && $0.isOf(service) }
    }

    /// Selects a response, from the system or to it.
    ///
    /// - Parameters:
    ///   - number: The number of the response, counted from 1. Defaults to 1. A value less than 1 counts as 1.
    ///   - service: The name of the service. Defaults to any of an application's services.
    public static func response(_ number: Int = 1, of service: String? = nil) -> StagedMessageSelector {
        StagedMessageSelector(number) { $0.kind == .response && $0.isOf(service) }
    }

    /// Selects the first message for which a condition holds. Messages of the library's own services are skipped.
    ///
    /// - Parameter condition: Returns `true` for the message to select. Called on the stage's event loop; must not
    ///   block.
    public static func first(where condition: @escaping @Sendable (StagedMessage) -> Bool) -> StagedMessageSelector {
        StagedMessageSelector(1) { $0.isOf(nil) && condition($0) }
    }
}

extension StagedMessage {
    fileprivate func isOf(_ service: String?) -> Bool {
        if let service { return self.service == service }
        return !self.service.hasPrefix("remote-systems.") || self.service == AppService.pingName
    }
}

extension StagedLink {
    /// Loses a message. The connection stays open, so a request then ends at its deadline.
    ///
    /// - Parameter message: The message to lose.
    public func drop(_ message: StagedMessageSelector) {
        self.site.add(.drop, at: message)
    }

    /// Holds a message back for a time. Later messages of its connection in its direction wait until it is delivered.
    ///
    /// - Parameters:
    ///   - message: The message to hold back.
    ///   - time: The time. By the stage's clock.
    public func delay(_ message: StagedMessageSelector, by time: Duration) {
        self.site.add(.delay(max(time, .zero)), at: message)
    }

    /// Changes one bit of a message. TLS detects the change and ends the connection.
    ///
    /// - Parameter message: The message to change.
    public func corrupt(_ message: StagedMessageSelector) {
        self.site.add(.corrupt, at: message)
    }

    /// Breaks the connection when a message would pass. The message does not arrive.
    ///
    /// - Parameter message: The message that does not arrive.
    public func cut(at message: StagedMessageSelector) {
        self.site.add(.cut, at: message)
    }
}
