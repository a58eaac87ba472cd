// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystems

/// Opens URIs with this machine's desktop applications.
///
/// ```swift
/// var options = RemoteSystemHost.Options()
/// options.launchURIProvider = await DesktopURILauncher()
/// ```
///
/// GIO determines the user's default handler of each scheme. The handler is started over the session bus if it is D-Bus
/// activatable, otherwise as a program, never through a shell. A ``URISchemePolicy`` decides which URIs are opened.
///
/// Desktop applications cannot receive input data. Launches with input data are refused.
public struct DesktopURILauncher: LaunchURIProvider {
    /// The schemes that the policy allows and that had a handler when the launcher was created. In lower case.
    public let supportedURISchemes: [String]
    /// The policy that decides which URIs are opened.
    public let policy: URISchemePolicy
    /// The environment of started handlers.
    private let environment: [String: String]

    /// Always `true`: the host also passes on URIs of schemes that the launcher does not open, and the launcher returns
    /// the reason.
    public var judgesOtherSchemes: Bool { true }

    /// The maximum time for the response of an application that is started over the bus.
    private static let maxActivationTime = Duration.seconds(25)

    /// Creates a launcher, and looks up the installed handlers.
    ///
    /// ``supportedURISchemes`` lists the schemes that have a handler at this time. Handlers that are installed later
    /// are used too.
    ///
    /// - Parameters:
    ///   - policy: The policy that decides which URIs are opened. Defaults to ``URISchemePolicy/standard``.
    ///   - stateDirectory: The host's state directory, which started applications use, so that they act as the same
    ///     system. Defaults to `nil`: the user's own state directory.
    public init(policy: URISchemePolicy = .standard, stateDirectory: String? = nil) async {
        self.policy = policy
        self.environment = ApplicationEnvironment.passedOn(
            from: ProcessInfo.processInfo.environment,
            stateDirectory: stateDirectory
        )
        self.supportedURISchemes = await BlockingCalls.run {
            policy.offeredSchemes.filter { DesktopEntries.defaultHandler(for: $0) != nil }
        }
    }

    /// Opens a URI with this machine's handler, if the policy allows it.
    ///
    /// - Parameter request: The URI, its options and its caller.
    /// - Returns: The decision that the URI was opened, or a decision with the reason why it was not. The host sends
    ///   the decision to the system that sent the request.
    /// - Throws: `CancellationError` if the task is cancelled before the handler is started.
    public func launchURI(_ request: LaunchURIRequest) async throws -> LaunchURIDecision {
        let uri = request.uri
        let rule = self.policy.rule(for: uri.scheme)
        let isNamed = self.policy.rules[uri.scheme] != nil || URISchemePolicy.dangerous.contains(uri.scheme)
        if rule == .deny, isNamed { return Self.denied(uri) }
        let preferred = request.options.preferredApplicationIDs
        let isLimited = request.options.requiresPreferredApplication
        let handler = await BlockingCalls.run {
            Self.handler(for: uri.scheme, preferred: preferred, isLimited: isLimited)
        }
        guard let entry = handler.entry else {
            guard isLimited, !handler.others.isEmpty else {
                return .unsupported("No application that opens \(uri.scheme): URIs is installed there.")
            }
            let question = preferred.first.map { SimilarNames.question(for: $0, among: handler.others) } ?? ""
            return .unavailable(
                "No application \(NameList.text(preferred)) that opens \(uri.scheme): URIs is installed there."
                    + "\(question) Installed handlers: \(NameList.text(handler.others))."
            )
        }
        if rule == .deny { return Self.denied(uri) }
        guard !MailtoURI.wantsAttachment(uri) else {
            return .denied("The mailto: URI asks for a file attachment, which other systems may not request.")
        }
        guard request.inputData == nil else {
            return .unavailable("\(entry.applicationID) is a desktop application and cannot be given input data.")
        }
        if rule == .ask {
            guard let ask = self.policy.ask else {
                return .denied(
                    "The policy there requires the user's consent for \(uri.scheme): URIs, but the user cannot be "
                        + "asked."
                )
            }
            let isAllowed: Bool
            do {
                isAllowed = try await ask(request)
            } catch is AskingProgram.NotStarted {
                return .unavailable("The user there was not asked: the program that asks cannot be started.")
            } catch {
                try Task.checkCancellation()
                return .unavailable(
                    "The user there was not asked: other questions wait, or several were not allowed. Try again later.",
                    canRetry: true
                )
            }
            guard isAllowed else {
                return .denied("The user there did not allow it, did not answer, or could not be asked.")
            }
        }
        // After cancellation the caller no longer waits, so nothing must open.
        try Task.checkCancellation()
        let timeout = min(Self.maxActivationTime, request.deadline - .now)
        let environment = self.environment
        return await BlockingCalls.run(atMost: timeout) { Self.start(entry, uri, environment, $0) }
    }

    /// Opens a web address that the user of this machine has chosen, with the default browser. No policy applies.
    ///
    /// - Parameter uri: an address with the scheme `http` or `https`.
    /// - Returns: whether it was opened, or the reason why not.
    package func openWebpage(_ uri: LaunchURI) async -> LaunchURIDecision {
        guard uri.scheme == "http" || uri.scheme == "https" else {
            return .unsupported("Only http: and https: addresses are opened in a browser.")
        }
        let environment = self.environment
        return await BlockingCalls.run(atMost: Self.maxActivationTime) { cancellable in
            guard let entry = DesktopEntries.defaultHandler(for: uri.scheme) else {
                return .unsupported(Self.noHandler(of: uri.scheme))
            }
            return Self.start(entry, uri, environment, cancellable)
        }
    }

    /// The reason why ``openWebpage(_:)`` opens no `https` address; `nil` if a browser is installed.
    package static func webpageProblem() async -> String? {
        await BlockingCalls.run {
            DesktopEntries.defaultHandler(for: "https") == nil ? Self.noHandler(of: "https") : nil
        }
    }

    private static func noHandler(of scheme: String) -> String {
        "No application that opens \(scheme): URIs is installed here."
    }

    /// Opens media that the user of this machine has chosen, with the default application of the first media type that
    /// has one. No policy applies.
    ///
    /// - Parameter following: further media, which applications get that open several at once. Others open only the
    ///   first.
    func openMedia(
        _ uri: LaunchURI,
        following: [LaunchURI] = [],
        types: [String]
    ) async -> LaunchURIDecision {
        let environment = self.environment
        return await BlockingCalls.run(atMost: Self.maxActivationTime) { cancellable in
            for type in types {
                guard let entry = DesktopEntries.defaultHandler(forMediaType: type) else { continue }
                return Self.start(entry, uri, following: following, environment, cancellable)
            }
            return .unsupported(
                "No application for \(types.first ?? "media") is registered here. 'update-desktop-database' registers "
                    + "one that was installed."
            )
        }
    }

    private static func denied(_ uri: LaunchURI) -> LaunchURIDecision {
        .denied("This system does not open \(uri.scheme): URIs for other systems. Its owner can allow the scheme.")
    }

    // MARK: Blocking

    /// Returns the first preferred application that opens the scheme.
    ///
    /// If there is none, returns the default handler. With `isLimited`, it returns only the ids of all handlers
    /// instead.
    private static func handler(
        for scheme: String,
        preferred: [String],
        isLimited: Bool
    ) -> (entry: DesktopEntry?, others: [String]) {
        let standard = DesktopEntries.defaultHandler(for: scheme)
        guard isLimited || !preferred.isEmpty else { return (standard, []) }
        // The default handler may be missing in the list of installed handlers.
        var handlers = DesktopEntries.handlers(for: scheme)
        if let standard, !handlers.contains(where: { $0.id == standard.id }) { handlers.append(standard) }
        for id in preferred {
            if let entry = handlers.first(where: { $0.id == id || $0.applicationID == id }) { return (entry, []) }
        }
        return isLimited ? (nil, handlers.map(\.applicationID)) : (standard, [])
    }

    private static func start(
        _ entry: DesktopEntry,
        _ uri: LaunchURI,
        following: [LaunchURI] = [],
        _ environment: [String: String],
        _ cancellable: Cancellable
    ) -> LaunchURIDecision {
        guard let session = DesktopStart.Session(for: entry, in: environment, cancellable) else {
            return ActivationFailure.noBus.decision(entry.applicationID)
        }
        switch DesktopStart(entry, uri: uri, following: following, session: session) {
        case .refuse(let refusal):
            return .unavailable(refusal.text, canRetry: refusal.canRetry)
        case .activate(let busName, let objectPath):
            let open = MessageBus.Call.application(
                busName,
                objectPath,
                "Open",
                [.strings([uri.description] + following.map(\.description)), .noOptions]
            )
            do throws(MessageBus.Failure) {
                try MessageBus.session.perform(open, cancellable)
            } catch {
                return ActivationFailure(error).decision(entry.applicationID)
            }
        case .spawn(let arguments):
            do throws(DetachedProgram.StartError) {
                try DetachedProgram(arguments, environment: environment, directory: entry.directory).start()
            } catch {
                return .unavailable("\(entry.applicationID) could not be started: \(error).")
            }
        }
        return .opened(by: entry.applicationID)
    }
}
