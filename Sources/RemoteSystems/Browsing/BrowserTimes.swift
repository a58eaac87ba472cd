// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The delays and timeouts of a browser.
enum BrowserTimes {
    /// The timeout of the attempt to reconnect to a lost system at its known endpoints. A lost system is removed within
    /// a second, so the attempt must end earlier.
    static let reconnect = TimeAmount.milliseconds(700)
    /// The time after which an attempt to connect no longer counts in ``AttemptQueue``, as in RFC 8305, section 8.
    static let slowAttempt = Duration.milliseconds(250)
    /// The timeout of an attempt at an address that was not authenticated, while many others wait.
    static let hurried = TimeAmount.seconds(1)
    /// The time in which a system must respond to a probe after discovery lost it or found it at another address.
    static let response = TimeAmount.seconds(1)
    /// The time in which a process must describe itself after the connection opens.
    static let description = Duration.seconds(5)
    /// A connection that is lost within this time after the previous loss is not reconnected immediately.
    static let stable = Duration.seconds(10)
    /// The delay before the next attempt to connect to a process beyond the limits for one system.
    static let surplus = Duration.seconds(300)
    /// A host's machine counts as alive if an attempt to reconnect to the host fails within this time. If the machine
    /// is gone, the attempt lasts until its timeout.
    static let alive = Duration.milliseconds(650)
    /// The time for which ``SystemBrowserStateMachine/Action/settled`` waits for attempts to connect to remembered
    /// processes.
    static let recall = Duration.seconds(1)
    /// The time for which a connection to a system with another tag stays open, so that both sides exchange what the
    /// account's root key signed.
    static let exchange = Duration.seconds(5)
    /// The interval at which processes of known systems are tried while discovery misses systems.
    static let recallInterval = Duration.milliseconds(1500)
    /// The delay before a topic is followed again that the process has closed and still lists.
    static let topic = Duration.seconds(1)
    /// The minimum time between two writes of what was learned of known systems.
    static let saving = Duration.seconds(3)

    /// The delay before the next attempt: 0.25 s, doubled with each attempt up to 30 s; 5 min if the peer failed
    /// authentication. A jitter of ±25 % prevents machines from trying simultaneously.
    static func delay(_ attempts: Int, _ isAuthentic: Bool, _ jitter: Double) -> Duration {
        let base = isAuthentic ? Duration.milliseconds(250) * (1 << min(attempts - 1, 7)) : .seconds(300)
        return min(base, isAuthentic ? .seconds(30) : .seconds(300)) * (0.75 + 0.5 * jitter)
    }
}
