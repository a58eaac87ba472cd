// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What happens on a connection that a listener took, as a ``ConnectionObserver`` learns of it.
package enum ConnectionEvent: Sendable {
    /// The TLS handshake is complete. `error` says why the peer is not trusted; `nil` if it is.
    case secured(alpn: String?, error: TransportError?)
    /// A whole frame came and could be read. `bytes` is its length without the length field.
    case received(Frame, bytes: Int)
    /// The connection is open: the host accepted the hello.
    case opened
    /// The host refuses the hello.
    case refused(Refusal)
    /// The peer went on after a refusal, the host's or its own. The text says how.
    case refusalIgnored(String)
    /// A request of the peer was answered with this status.
    case responded(id: UInt64, status: ResponseStatus)
    /// The peer broke a rule, and the connection ends for it. The error has the code.
    case violation(TransportError)
    /// The peer did not complete its hello in time.
    case helloTimedOut
    /// The channel failed: TLS or TCP broke.
    case failed(any Error)
    /// The connection ended. `status` is `nil` if it was not open.
    case ended(CloseStatus?)
}

/// Reports what happens on the connections of a listener, for a host that checks its callers. Decides nothing.
///
/// Called on the connections' event loops: the closure returns at once.
package struct ConnectionObserver: Sendable {
    /// Numbers the connections of a process, from 1 on, in the order in which they were taken.
    package typealias ConnectionNumber = UInt64

    private let report: @Sendable (ConnectionNumber, ConnectionEvent) -> Void

    package init(_ report: @escaping @Sendable (ConnectionNumber, ConnectionEvent) -> Void) {
        self.report = report
    }

    /// The observer of one connection.
    struct One: Sendable {
        fileprivate let number: ConnectionNumber
        fileprivate let observer: ConnectionObserver

        func report(_ event: ConnectionEvent) { self.observer.report(self.number, event) }
    }

    func connection(_ number: ConnectionNumber) -> One { One(number: number, observer: self) }
}
