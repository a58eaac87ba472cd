// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import Logging
public import RemoteSystems
package import RemoteSystemsIdentity
public import ServiceLifecycle
internal import ValueSets

/// Lets an application hand its activities to other systems, and continue theirs.
///
/// It runs the application's `RemoteSystemHost`, beside whose services it offers its own.
///
/// ```swift
/// let host = UserActivityHost(application: "com.example.editor", activityTypes: ["com.example.editing"]) { activity in
///     await editor.open(activity.userInfo)
/// }
/// try await ServiceGroup(services: [host], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
///
/// An activity of this process is offered after ``UserActivity/becomeCurrent(at:)``. It is withdrawn when another
/// activity becomes current, when it is resigned, invalidated or expires, when another system has continued it, and
/// when the process ends.
public final class UserActivityHost: Service {
    /// The maximum length of an activity's content, in bytes: 64 KiB. Larger data belongs into streams.
    public static let maxPayloadBytes = 64 << 10

    /// The options of an application: what it may send and receive, its documents, its timeouts, and those of its host.
    public struct Options: Sendable {
        /// The options of the application's host. Defaults to those of `RemoteSystemHost`. `allowsSeveralProcesses`
        /// must be `false`: an application has one current activity, and a caller reaches any one of its processes.
        public var host = RemoteSystemHost.Options()
        /// Whether activities of this application are offered to other systems. Defaults to `true`.
        public var allowsSending = true
        /// Whether this application continues activities of other systems. Defaults to `true`.
        public var allowsReceiving = true
        /// The folders of documents whose URLs may be handed over. Defaults to `nil`: an activity whose content has a
        /// `file:` URL cannot be continued.
        public var documents: DocumentURLMapper?
        /// The kinds of documents that the application opens. It continues their activity types, too. Defaults to none.
        public var documentTypes: [DocumentType] = []
        /// The time for which an activity without an expiration date of its own is offered after its process has hung.
        /// It is refreshed while the activity is current. Defaults to 10 min. Valid range: 2 s–24 h.
        public var offerLifetime = Duration.seconds(600)
        /// The time that the application has to save an activity when another system continues it. After it, the last
        /// saved state is sent. Defaults to 3 s. Valid range: 0–60 s.
        public var saveTimeout = Duration.seconds(3)
        /// The time that the application has to decide whether it continues an activity, and as long again to be
        /// notified of a failure. Defaults to 5 s. Valid range: 0.01–60 s.
        public var decisionTimeout = Duration.seconds(5)
        /// The time that the application has to continue an activity whose content has arrived. After it, the handler
        /// is cancelled, and the activity is returned to the application that offered it. A handler whose transfer
        /// takes longer opens its stream, returns, and lets the transfer go on. Defaults to 240 s. Valid range:
        /// 0.1–600 s.
        public var continuationTimeout = Duration.seconds(240)
        /// The time to wait for the content of an activity. Defaults to 15 s. Valid range: 0.1–300 s.
        public var contentTimeout = Duration.seconds(15)
        /// Titles for which this application is chosen if several applications of a system continue the same type, by
        /// activity type. A title matches if it is equal. Defaults to none: the user chooses. At most 64 titles, each
        /// of at most 512 bytes of UTF-8.
        public var activityTitles: [String: Set<String>] = [:]
        /// Whether the application continues an activity before the origin is notified, and not after it. For programs
        /// that state only by continuing an activity whether they can. They have no streams, and two systems that
        /// continue an activity at the same moment may both show it.
        package var continuesBeforeConfirmation = false
        /// Whether the program is part of the product, and may use the ids of `BuiltInApplication`.
        package var isBuiltIn = false
        /// Obtains vouchers in place of the host daemon. For staged systems, which have none.
        package var voucher: (@Sendable (_ audience: SystemID, _ activity: UUID) async -> OwnVoucher?)?

        /// Creates options with the default values.
        public init() {}

        func validate() throws(RemoteSystemError) {
            try ArgumentCheck.check("offerLifetime", self.offerLifetime, in: .seconds(2) ... .seconds(86_400))
            try ArgumentCheck.check("saveTimeout", self.saveTimeout, in: .zero ... .seconds(60))
            try ArgumentCheck.check("decisionTimeout", self.decisionTimeout, in: .milliseconds(10) ... .seconds(60))
            try DocumentType.check(self.documentTypes)
            try HandledTypes.check(titles: self.activityTitles)
            try ArgumentCheck.check(
                "continuationTimeout",
                self.continuationTimeout,
                in: .milliseconds(100) ... .seconds(600)
            )
            try ArgumentCheck.check("contentTimeout", self.contentTimeout, in: .milliseconds(100) ... .seconds(300))
        }
    }

    /// The host of the application. It runs while this object runs.
    public let host: RemoteSystemHost
    private let options: Options
    private let application: String
    private let activityTypes: [String]
    let origin: ActivityOrigin
    private let receiver: ActivityReceiver

    /// Creates a host with the default configuration and options.
    ///
    /// - Parameters:
    ///   - application: the application's id, in reverse-DNS form. Valid length: 1–256 bytes of UTF-8.
    ///   - activityTypes: the types of activities that the application continues, in reverse-DNS form. At most 256.
    ///     Activities of other types can be offered. Defaults to none.
    ///   - services: the app services that the host offers. Defaults to none.
    ///   - continueActivity: continues an activity, as
    ///     ``ContinuationHandler/continueUserActivity(_:restore:)`` does.
    public convenience init(
        application: String,
        activityTypes: [String] = [],
        services: [AppService] = [],
        continueActivity: @escaping @Sendable (UserActivity) async throws -> Void = { _ in }
    ) {
        self.init(
            RemoteSystemsConfiguration(applicationID: application),
            activityTypes: activityTypes,
            services: services,
            handler: .closure(continueActivity)
        )
    }

    /// Creates a host. ``run()`` starts it and checks the arguments.
    ///
    /// - Parameters:
    ///   - configuration: the process's configuration.
    ///   - activityTypes: the types of activities that the application continues, in reverse-DNS form. At most 256.
    ///   - services: the app services that the host offers. Defaults to none.
    ///   - options: the times of hand-off, and what is permitted. Defaults to `Options()`.
    ///   - handler: continues activities.
    public init(
        _ configuration: RemoteSystemsConfiguration,
        activityTypes: [String],
        services: [AppService] = [],
        options: Options = Options(),
        handler: any ContinuationHandler
    ) {
        let proofs = PublisherProofs(configuration)
        let origin = ActivityOrigin(configuration, options, proofs: proofs)
        let receiver = ActivityReceiver(
            configuration,
            activityTypes: Set(activityTypes).union(options.documentTypes.map(\.activityType)),
            handler: handler,
            options: options,
            proofs: proofs
        )
        var hostOptions = options.host
        hostOptions.features.append(
            HostFeature(
                services: [
                    ActivityService(origin: origin, receiver: receiver, refusals: RefusalLog(configuration)).service
                ],
                topics: [origin.topic],
                accountChanged: { [weak origin, receiver] in
                    origin?.permissionsChanged()
                    // The types were short enough when the host began to run.
                    if let origin { try? receiver.publishTypes(in: origin.topic) }
                }
            )
        )
        self.host = RemoteSystemHost(configuration, services: services, options: hostOptions)
        proofs.use(self.host, source: options.voucher)
        self.options = options
        self.application = configuration.applicationID
        self.activityTypes = activityTypes
        self.origin = origin
        self.receiver = receiver
    }

    /// Continues an activity in this application, for example when the user has chosen it from a list of
    /// ``UserActivityWatcher``. Returns when the application has continued it.
    ///
    /// - Parameter offer: the offer. Its type must be one that the application continues.
    /// - Throws: ``ContinuationError``.
    public func `continue`(_ offer: UserActivityOffer) async throws(ContinuationError) {
        try await self.receiver.receive(OfferReference(offer))
    }

    /// Continues only the web address of an activity, as a browser does. Within one account the publishers are not
    /// compared. The handler receives an activity without other content.
    package func continueWebpage(of offer: UserActivityOffer) async throws(ContinuationError) {
        var reference = try OfferReference(offer)
        reference.isWebpageOnly = true
        try await self.receiver.receive(reference)
    }

    /// Runs the host until its task is cancelled or a graceful shutdown is triggered, as `RemoteSystemHost.run()` does.
    ///
    /// - Throws: `RemoteSystemError` as `RemoteSystemHost.run()` does; with the code `misuse` if the options of the
    ///   host allow several processes; and with the code `invalidArgument` when the application's id or an activity
    ///   type is no reversed domain name, the id is that of a part of RemoteSystems (`org.remotesystems.media-players`,
    ///   `org.remotesystems.web-browser.…`), a type is named twice, or an option is outside its range.
    public func run() async throws { try await self.run(isStaged: false) }

    package func run(isStaged: Bool) async throws {
        try self.validate()
        self.origin.begin()
        try self.receiver.publishTypes(in: self.origin.topic)
        ActivityPublishers.shared.add(self.origin)
        defer {
            ActivityPublishers.shared.remove(self.origin)
            self.origin.end()
        }
        try await self.host.run(isStaged: isStaged)
    }

    private func validate() throws(RemoteSystemError) {
        try self.options.validate()
        guard !self.options.host.allowsSeveralProcesses else {
            throw RemoteSystemError(
                .misuse,
                """
                An application with hand-off cannot run in several processes: each would have a current activity of \
                its own, and another system reaches any one of them. Set 'allowsSeveralProcesses' to false.
                """,
                side: .local
            )
        }
        guard ActivityTypeName.isValid(self.application) else {
            throw RemoteSystemError(
                .invalidArgument,
                """
                The application id \(self.application.debugDescription.prefix(80)) is not valid for hand-off. Use a \
                reversed domain name such as com.example.editor, of at most 256 letters, digits, '-', '_' and '.'.
                """,
                side: .local
            )
        }
        guard self.options.isBuiltIn || !BuiltInApplication.isBuiltIn(self.application) else {
            throw RemoteSystemError(
                .invalidArgument,
                "The application id \(self.application) is that of a part of RemoteSystems. Use an id of your own.",
                side: .local
            )
        }
        for type in self.activityTypes { try ActivityTypeName.check(type) }
        guard Set(self.activityTypes).count == self.activityTypes.count,
            self.receiver.activityTypes.count <= HandledTypes.max
        else {
            throw RemoteSystemError(
                .invalidArgument,
                "An application continues at most \(HandledTypes.max) activity types, and each is named once.",
                side: .local
            )
        }
    }
}
