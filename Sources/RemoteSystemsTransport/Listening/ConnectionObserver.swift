// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// An event on an accepted connection, as a ``ConnectionObserver`` reports it.
package enum ConnectionEvent: Sendable {
    /// The TLS handshake is complete. `error` is the reason why the peer is not trusted; `nil` if it is trusted.
    case secured(alpn: String?, error: TransportError?)
    /// A complete, readable frame arrived. `bytes` is its length without the length field.
    case received(Frame, bytes: Int)
    /// The connection is open: the host accepted the hello.
    case opened
    /// The host refused the hello.
    case refused(Refusal)
    /// The peer sent more data after a refusal by the host or by itself. The text describes what it sent.
    case refusalIgnored(String)
    /// A request of the peer got a response with this status.
    case responded(id: UInt64, status: ResponseStatus)
    /// The peer broke a rule, and the connection ends because of it. The error has the failure code.
    case violation(TransportError)
    /// The peer did not complete its hello before the timeout.
    case helloTimedOut
    /// The channel failed with an error of TLS or TCP.
    case failed(any Error)
    /// The connection ended. `status` is `nil` if it was not open.
    case ended(CloseStatus?)
}

/// Reports events on the connections of a listener, for a host that tests its callers. It decides nothing.
///
/// The closure is called on the connections' event loops and must return at once.
package struct ConnectionObserver: Sendable {
    /// Numbers the connections of an observer from 1, in the order in which they were accepted.
    package typealias ConnectionNumber = UInt64

    private final class Numbers: Sendable {
        let last = Atomic<ConnectionNumber>(0)
    }

    private let report: @Sendable (ConnectionNumber, ConnectionEvent) -> Void
    private let numbers = Numbers()

    package init(_ report: @escaping @Sendable (ConnectionNumber, ConnectionEvent) -> Void) {
        self.report = report
    }

    /// The observer of one connection.
    struct One: Sendable {
        fileprivate let number: ConnectionNumber
        fileprivate let observer: ConnectionObserver

        func report(_ event: ConnectionEvent) { self.observer.report(self.number, event) }
    }

    /// The observer of the next connection.
    func connection() -> One { One(number: self.numbers.last.add(1, ordering: .relaxed).newValue, observer: self) }
}
