// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging

/// Asks the network for our services twice more, from the beginning, after an embedded stack has begun to browse.
///
/// Another stack on this machine, of a program that started up to 0.5 s before, asks at the same intervals of 1, 2, 4 … seconds
/// and says each time what it knows. Whoever is asked takes that as said by the whole machine for 0.7 s, since both have one
/// address, and does not answer us: what the other program knew we would learn only when its records run out. The moments are
/// those at which neither its last answer (0.5 s) nor its last question (0.7 s) holds an answer back. Avahi asks for one thing
/// only once in a stack, so each question is a stack's own that lives no longer than asking takes.
final class RepeatedQuestion {
    private static let moments: [Duration] = [.milliseconds(550), .milliseconds(2100)]
    /// Avahi sends a question 0.1 s after it was put.
    private static let asking: Duration = .milliseconds(300)

    private let connect: (@escaping (ConnectionReport) -> Void) throws(AvahiError) -> EmbeddedConnection
    private let logger: Logger
    private var timers: [QueueTimer] = []
    private var connection: EmbeddedConnection?
    private var browser: AnyObject?

    /// - Parameter connect: Makes a connection that has not been started.
    init(
        queue: DispatchQueue,
        logger: Logger,
        connect: @escaping (@escaping (ConnectionReport) -> Void) throws(AvahiError) -> EmbeddedConnection
    ) {
        self.connect = connect
        self.logger = logger
        for moment in Self.moments {
            at(moment, on: queue) { $0.ask() }
            at(moment + Self.asking, on: queue) { $0.stop() }
        }
    }

    private func at(_ moment: Duration, on queue: DispatchQueue, _ action: @escaping (RepeatedQuestion) -> Void) {
        let timer = QueueTimer(queue: queue) { [unowned self] in action(self) }
        timer.set(after: moment)
        timers.append(timer)
    }

    private func ask() {
        do throws(AvahiError) {
            let connection = try connect { [weak self] report in
                if case .ready = report { self?.browse() }
            }
            self.connection = connection
            try connection.start()
        } catch {
            // The stack that browses is not concerned.
            logger.debug("cannot ask again", metadata: ["error": "\(error)"])
            stop()
        }
    }

    private func browse() {
        guard let connection, browser == nil else { return }
        // What it hears, the stack that browses hears too.
        browser = try? connection.browse(interface: anyInterface) { _ in }
    }

    private func stop() {
        browser = nil
        connection = nil
    }
}
