// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// Validates API arguments: numbers against their ranges, names and texts against the rules of `Docs/wire-protocol.md`.
/// Every error has the code ``RemoteSystemError/Code/invalidArgument``.
package enum ArgumentCheck {
    /// A type whose values are checked against ranges.
    package protocol Ranged: Comparable, Sendable {
        /// The value as error messages show it, with its unit.
        var argumentText: String { get }
    }

    /// Checks that a value is within its range.
    ///
    /// - Parameters:
    ///   - name: the name shown to the caller, such as `RemoteSystemHost.Options.port`.
    ///   - value: the value. `nil` passes the check.
    ///   - range: the valid range.
    /// - Throws: ``RemoteSystemError`` that names the argument, its value and its range.
    package static func check<Value: Ranged>(
        _ name: StaticString,
        _ value: Value?,
        in range: ClosedRange<Value>
    ) throws(RemoteSystemError) {
        guard let value, !range.contains(value) else { return }
        throw Self.outOfRange(name, value, range)
    }

    @inline(never)
    private static func outOfRange<Value: Ranged>(
        _ name: StaticString,
        _ value: Value,
        _ range: ClosedRange<Value>
    ) -> RemoteSystemError {
        let (lower, upper) = (range.lowerBound.argumentText, range.upperBound.argumentText)
        return .invalidArgument("\(name) is \(value.argumentText). Valid range: \(lower) to \(upper).")
    }

    /// Checks the name of a service or the id of an application.
    ///
    /// - Parameter what: the start of the error message, such as `The service name`.
    package static func check(name: String?, _ what: StaticString) throws(RemoteSystemError) {
        guard let name, !name.isName else { return }
        throw .invalidArgument("\(what) \(Self.quoted(name)) is not valid. It takes \(String.nameForm).")
    }

    /// Checks a display text: 1 to ``SystemDescription/maxTextBytes`` bytes of UTF-8.
    package static func check(text: String?, _ name: StaticString) throws(RemoteSystemError) {
        guard let text, !(1...SystemDescription.maxTextBytes).contains(text.utf8.count) else { return }
        throw .invalidArgument(
            "\(name) has \(text.utf8.count) bytes of UTF-8. Valid range: 1 to \(SystemDescription.maxTextBytes)."
        )
    }

    /// Returns the name in quotes for an error message, without control characters and with at most 64 characters.
    private static func quoted(_ name: String) -> String {
        guard !name.isEmpty else { return "\"\"" }
        let short = name.withoutControlCharacters.prefix(64)
        return "\"\(short)\(short.count < name.count ? "…" : "")\""
    }
}

extension Int: ArgumentCheck.Ranged {
    package var argumentText: String { "\(self)" }
}

extension Double: ArgumentCheck.Ranged {
    package var argumentText: String { "\(self)" }
}

extension Duration: ArgumentCheck.Ranged {
    package var argumentText: String {
        let (seconds, attoseconds) = self.components
        guard attoseconds != 0 else { return "\(seconds) s" }
        let milliseconds = attoseconds / 1_000_000_000_000_000
        let isWhole = milliseconds * 1_000_000_000_000_000 == attoseconds
        return seconds == 0 && isWhole ? "\(milliseconds) ms" : "\(self / .seconds(1)) s"
    }
}

extension ClosedRange where Bound == Int {
    /// The TCP ports that can be connected to: 1–65535.
    package static var ports: ClosedRange { 1...65_535 }
    /// The TCP ports to listen on: 0–65535. With 0 the operating system chooses the port.
    package static var listeningPorts: ClosedRange { 0...65_535 }
}

extension ClosedRange where Bound == Duration {
    /// The timeout of a request. The wire format carries at most 24 h (`Docs/wire-protocol.md`, section 6).
    package static var requestTimeouts: ClosedRange { .zero ... .seconds(24 * 3600) }
    /// The time for which a peer may be silent before it counts as lost.
    static var silenceTimes: ClosedRange { .seconds(1) ... .seconds(3600) }
}

extension RemoteSystemError {
    static func invalidArgument(_ message: String) -> RemoteSystemError {
        RemoteSystemError(.invalidArgument, message, side: .local)
    }
}

// MARK: - Validation of the public types, at their first use

extension RemoteSystemsConfiguration {
    /// Checks every value of the configuration.
    ///
    /// Every API that takes a configuration performs this check first. Call it to detect errors earlier.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidArgument`` when a number is outside its
    ///   range, when the application id or the system's display name is not valid, or when the list of network
    ///   interfaces is empty.
    public func validate() throws(RemoteSystemError) {
        try ArgumentCheck.check(name: self.applicationID, "The application id")
        try ArgumentCheck.check(text: self.systemDisplayName, "RemoteSystemsConfiguration.systemDisplayName")
        if let stateDirectory, !stateDirectory.hasPrefix("/") {
            throw .invalidArgument(
                """
                RemoteSystemsConfiguration.stateDirectory is "\(stateDirectory)". Give an absolute path: a relative \
                path means another directory, and so another identity, in every working directory.
                """
            )
        }
        guard self.network.kind != .interfaces([]) else {
            throw .invalidArgument(
                "RemoteSystemsConfiguration.network lists no interface. Name at least one, or use .all or .loopback."
            )
        }
        let hour = Duration.seconds(3600)
        let millisecond = Duration.milliseconds(1)
        func check(
            _ name: StaticString,
            _ value: Duration,
            _ range: ClosedRange<Duration>
        ) throws(RemoteSystemError) { try ArgumentCheck.check(name, value, in: range) }
        try check(
            "RemoteSystemsConfiguration.transport.requestTimeout",
            self.transport.requestTimeout,
            millisecond...hour * 24
        )
        try check(
            "RemoteSystemsConfiguration.transport.connectTimeout",
            self.transport.connectTimeout,
            millisecond...hour
        )
        try check("RemoteSystemsConfiguration.transport.startTimeout", self.transport.startTimeout, .zero...hour)
        try check("RemoteSystemsConfiguration.transport.deadPeerTime", self.transport.deadPeerTime, .silenceTimes)
        try check("RemoteSystemsConfiguration.transport.drainTimeout", self.transport.drainTimeout, .zero...hour)
        try check(
            "RemoteSystemsConfiguration.transport.helloTimeout",
            self.transport.helloTimeout,
            millisecond ... .seconds(60)
        )
        let messages = ConnectionLimits.minMessageBytes...ConnectionLimits.maxMessageBytes
        try ArgumentCheck.check(
            "RemoteSystemsConfiguration.limits.messageBytes",
            self.limits.messageBytes,
            in: messages
        )
        try ArgumentCheck.check(
            "RemoteSystemsConfiguration.limits.concurrentRequests",
            self.limits.concurrentRequests,
            in: 1...4096
        )
        let connections = 1...1_048_576
        try ArgumentCheck.check(
            "RemoteSystemsConfiguration.limits.connections",
            self.limits.connections,
            in: connections
        )
        try ArgumentCheck.check(
            "RemoteSystemsConfiguration.limits.connectionsPerSystem",
            self.limits.connectionsPerSystem,
            in: connections
        )
    }
}

extension RemoteSystemHost.Options {
    func validate() throws(RemoteSystemError) {
        try ArgumentCheck.check("RemoteSystemHost.Options.port", self.port, in: .listeningPorts)
        let times = Duration.milliseconds(100) ... .seconds(300)
        try ArgumentCheck.check("RemoteSystemHost.Options.startTimeout", self.startTimeout, in: times)
        try ArgumentCheck.check(text: self.displayName, "RemoteSystemHost.Options.displayName")
    }
}

extension AppService {
    package func validate() throws(RemoteSystemError) {
        try ArgumentCheck.check(name: self.name, "The service name")
        try ArgumentCheck.check(text: self.options.version, "AppService.Options.version")
        try ArgumentCheck.check(text: self.options.summary, "AppService.Options.summary")
        try ArgumentCheck.check("AppService.concurrentRequests", self.concurrentRequests, in: 1...4096)
        for id in self.callers.applicationIDs { try ArgumentCheck.check(name: id, "The application id of a caller") }
        guard !self.name.hasPrefix("remote-systems.") || [Self.pingName, Self.conformanceName].contains(self.name)
        else {
            throw .invalidArgument(
                "The service name \(self.name) is reserved. Choose a name that does not start with 'remote-systems.'."
            )
        }
    }
}

extension AppServiceDescription {
    func validate() throws(RemoteSystemError) {
        try ArgumentCheck.check(name: self.name, "The service name")
        try ArgumentCheck.check(name: self.applicationID, "The application id (applicationID)")
    }
}

extension RemoteSystemConnectionRequest {
    /// Checks an address that the caller supplied. Targets from discovery or a token have been checked before.
    func validate() throws(RemoteSystemError) {
        guard case .address(let endpoint, _) = self.target else { return }
        try ArgumentCheck.check("RemoteSystemConnectionRequest(host:port:…) port", endpoint.port, in: .ports)
        guard !endpoint.host.isEmpty else {
            throw .invalidArgument("The host of a RemoteSystemConnectionRequest is empty. Give a name or an address.")
        }
    }
}

extension RemoteSystemFilter {
    func validate() throws(RemoteSystemError) {
        switch self.rule {
        case .application(let id): try ArgumentCheck.check(name: id, "The application id of a filter")
        case .service(let name): try ArgumentCheck.check(name: name, "The service name of a filter")
        default: break
        }
    }
}

extension RemoteSystemWatcher.Options {
    func validate() throws(RemoteSystemError) {
        let times = Duration.zero ... .seconds(3600)
        try ArgumentCheck.check("RemoteSystemWatcher.Options.enumerationTime", self.enumerationTime, in: times)
        try ArgumentCheck.check("RemoteSystemWatcher.Options.silenceTime", self.silenceTime, in: .silenceTimes)
    }
}

extension ReconnectionPolicy {
    func validate() throws(RemoteSystemError) {
        let day = Duration.seconds(24 * 3600)
        let firstDelays = Duration.milliseconds(10) ... .seconds(3600)
        try ArgumentCheck.check("ReconnectionPolicy.firstDelay", self.firstDelay, in: firstDelays)
        try ArgumentCheck.check("ReconnectionPolicy.factor", self.factor, in: 1...10)
        try ArgumentCheck.check("ReconnectionPolicy.longestDelay", self.longestDelay, in: self.firstDelay...day)
        try ArgumentCheck.check("ReconnectionPolicy.jitter", self.jitter, in: 0...1)
        try ArgumentCheck.check("ReconnectionPolicy.attempts", self.attempts, in: 1 ... .max)
        try ArgumentCheck.check("ReconnectionPolicy.longestOutage", self.longestOutage, in: .seconds(1)...day * 365)
        try ArgumentCheck.check("ReconnectionPolicy.waitingRequests", self.waitingRequests, in: 0...4096)
    }
}
