// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystems

/// Opens URIs with the applications of this machine's desktop: the user's default handler of each scheme, as GIO finds it
///
///
/// ```swift
/// var options = RemoteSystemHost.Options()
/// options.launchURIProvider = await DesktopURILauncher()
/// ```
///
/// A handler is started by itself, over the session's bus if it is D-Bus activatable, and never through a shell. What may
/// be opened is decided by a ``URISchemePolicy``. It cannot pass on input data: a launch that has some is refused, since
/// desktop applications have no way to be given it.
public struct DesktopURILauncher: LaunchURIProvider {
    /// The schemes that the policy lets through and that something was installed for when this launcher was made.
    public let supportedURISchemes: [String]
    /// What may be opened.
    public let policy: URISchemePolicy
    /// What handlers that are started get of the environment.
    private let environment: [String: String]

    /// It says why it does not open what it does not open.
    public var judgesOtherSchemes: Bool { true }

    /// An application that is started over the bus may take this long to answer.
    private static let maxActivationTime = Duration.seconds(25)

    /// Creates a launcher. Looks up which schemes have a handler now; what is installed later is opened too.
    ///
    /// - Parameters:
    ///   - policy: what may be opened.
    ///   - stateDirectory: the state directory of the host, so that what it starts is the same system; `nil` for the user's.
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

    /// Opens a URI with this machine's handler for it, if the policy lets it.
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
                return .unsupported("Nothing is installed there that opens \(uri.scheme): URIs.")
            }
            let question = preferred.first.map { SimilarNames.question(for: $0, among: handler.others) } ?? ""
            return .unavailable(
                "There is no application \(NameList.text(preferred)) there that opens \(uri.scheme): URIs.\(question) "
                    + "They are opened there by \(NameList.text(handler.others))."
            )
        }
        if rule == .deny { return Self.denied(uri) }
        guard !MailtoURI.wantsAttachment(uri) else {
            return .denied("The mailto: URI asks for a file to be attached, which is not done for others.")
        }
        guard request.inputData == nil else {
            return .unavailable("\(entry.applicationID) is a desktop application and cannot be given input data.")
        }
        if rule == .ask {
            guard let ask = self.policy.ask else {
                return .denied(
                    "Somebody has to be asked there before \(uri.scheme): URIs are opened, and nobody can be."
                )
            }
            guard await ask(request) else { return .denied("Somebody was asked there, and did not say yes.") }
        }
        // Nobody waits any more: what would open now would surprise.
        try Task.checkCancellation()
        let timeout = min(Self.maxActivationTime, request.deadline - .now)
        let environment = self.environment
        return await BlockingCalls.run(atMost: timeout) { Self.start(entry, uri, environment, $0) }
    }

    private static func denied(_ uri: LaunchURI) -> LaunchURIDecision {
        .denied("This system opens no \(uri.scheme): URIs for others. Its owner can allow the scheme.")
    }

    // MARK: Blocking

    /// The first of the preferred applications that open the scheme; if none does, the default one, or with `isLimited` only the
    /// ids of those that would.
    private static func handler(
        for scheme: String,
        preferred: [String],
        isLimited: Bool
    ) -> (entry: DesktopEntry?, others: [String]) {
        let standard = DesktopEntries.defaultHandler(for: scheme)
        guard isLimited || !preferred.isEmpty else { return (standard, []) }
        // The user's choice opens the scheme, too, where no list of what is installed names it.
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
        _ environment: [String: String],
        _ cancellable: Cancellable
    ) -> LaunchURIDecision {
        guard let session = DesktopStart.Session(for: entry, in: environment, cancellable) else {
            return ActivationFailure.noBus.decision(entry.applicationID)
        }
        switch DesktopStart(entry, uri: uri, session: session) {
        case .refuse(let refusal):
            return .unavailable(refusal.text, canRetry: refusal.canRetry)
        case .activate(let busName, let objectPath):
            let open = MessageBus.Call.application(
                busName,
                objectPath,
                "Open",
                [.strings([uri.description]), .noOptions]
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
