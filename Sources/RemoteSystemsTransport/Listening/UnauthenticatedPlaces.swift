// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// The slots of a port, and how the connections in them are closed.
final class UnauthenticatedPlaces: Sendable {
    private struct State {
        var slots = UnauthenticatedSlots()
        var closures: [UnauthenticatedSlots.ID: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Gives a connection a place, and closes the connection that had it; `nil` if there is no place.
    ///
    /// - Parameters:
    ///   - isKnown: whether the connection may have one of the places for known peer keys. Defaults to `false`.
    ///   - close: closes the connection when another one gets its place.
    func enter(
        _ peer: PeerKey,
        isKnown: Bool = false,
        at now: ContinuousClock.Instant,
        close: @escaping @Sendable () -> Void
    ) -> UnauthenticatedSlots.ID? {
        let (place, closeOther) = self.state.withLock { state -> (UnauthenticatedSlots.ID?, (@Sendable () -> Void)?) in
            switch state.slots.enter(peer, isKnown: isKnown, at: now) {
            case .entered(let id):
                state.closures[id] = close
                return (id, nil)
            case .replaced(let other, let id):
                state.closures[id] = close
                return (id, state.closures.removeValue(forKey: other))
            case .refused:
                return (nil, nil)
            }
        }
        closeOther?()
        return place
    }

    func advance(_ place: UnauthenticatedSlots.ID, to stage: UnauthenticatedSlots.Stage) {
        self.state.withLock { $0.slots.advance(place, to: stage) }
    }

    func leave(_ place: UnauthenticatedSlots.ID) {
        self.state.withLock { state in
            state.slots.leave(place)
            state.closures[place] = nil
        }
    }
}

extension Channel {
    /// Closes the channel at once, on its event loop.
    ///
    /// Closing the whole channel would first wait for the peer's part of TLS's close, which a peer can delay for
    /// seconds. A flood of such connections would hold more file descriptors than there are places.
    func closeBeneathTLS() {
        guard let context = try? self.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) else {
            return self.close(promise: nil)
        }
        context.close(promise: nil)
    }
}
