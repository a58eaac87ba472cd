// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// A message that passes a ``StagedLink``.
public struct StagedMessage: Sendable {
    /// What it is.
    public enum Kind: Sendable, Hashable {
        /// Of a caller to a service, or pushed by a service to its caller.
        case request
        /// To a request.
        case response
    }

    /// What it is.
    public let kind: Kind
    /// The service whose connection it passes.
    public let service: String
    /// What it holds.
    public let content: ValueSet
    /// Which way it goes, seen from the system whose link it is.
    public internal(set) var direction: StagedLink.Direction

    init(kind: Kind, service: String, content: ValueSet, direction: StagedLink.Direction) {
        self.kind = kind
        self.service = service
        self.content = content
        self.direction = direction
    }
}

/// The message of a link that something happens to. Messages are counted from the moment at which the fault is set, over all
/// connections with the system. Those of the library's own services, by which systems describe themselves, count only if the
/// service is named.
public struct StagedMessageSelector: Sendable {
    let number: Int
    private let condition: @Sendable (StagedMessage) -> Bool

    private init(_ number: Int, _ condition: @escaping @Sendable (StagedMessage) -> Bool) {
        self.number = max(number, 1)
        self.condition = condition
    }

    func matches(_ message: StagedMessage) -> Bool { self.condition(message) }

    /// A request, to the system or from it.
    ///
    /// - Parameters:
    ///   - number: Which one, counted from 1. Less counts as 1.
    ///   - service: The service's name; any of an application's services unless given.
    public static func request(_ number: Int = 1, of service: String? = nil) -> StagedMessageSelector {
        StagedMessageSelector(number) { $0.kind == .request && $0.isOf(service) }
    }

    /// A response, from the system or to it.
    ///
    /// - Parameters:
    ///   - number: Which one, counted from 1. Less counts as 1.
    ///   - service: The service's name; any of an application's services unless given.
    public static func response(_ number: Int = 1, of service: String? = nil) -> StagedMessageSelector {
        StagedMessageSelector(number) { $0.kind == .response && $0.isOf(service) }
    }

    /// The first message for which the condition holds; messages of the library's own services are not asked about.
    ///
    /// - Parameter condition: Called on the stage's event loop, which it must not block.
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
    /// Loses a message. The connection goes on: a request then ends at its deadline.
    public func drop(_ message: StagedMessageSelector) {
        self.site.add(.drop, at: message)
    }

    /// Holds a message back for this long, by the stage's clock, and with it what follows in its direction on its connection.
    public func delay(_ message: StagedMessageSelector, by time: Duration) {
        self.site.add(.delay(max(time, .zero)), at: message)
    }

    /// Changes one bit of a message. TLS notices it and ends the connection.
    public func corrupt(_ message: StagedMessageSelector) {
        self.site.add(.corrupt, at: message)
    }

    /// Breaks the connection when the message would pass, which does not arrive.
    public func cut(at message: StagedMessageSelector) {
        self.site.add(.cut, at: message)
    }
}
