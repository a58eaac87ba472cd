// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import Logging
internal import RemoteSystems
internal import Synchronization
public import ValueSets

/// Something that the user is doing in an application, and can continue on another system.
///
/// ```swift
/// let activity = UserActivity(type: "com.example.editing", title: "Minutes of Monday")
/// activity.userInfo = ["document": "minutes-17", "caret": 318]
/// try await activity.becomeCurrent()
/// ```
///
/// An application creates one activity for each thing that can be continued, for example for each open document. Only
/// the current one is offered. Its content stays in the application until another system continues it.
///
/// All members may be used from any thread.
public final class UserActivity: Sendable {
    /// The type of an activity that a browser offers: ``webpageURL`` is set and ``userInfo`` is empty.
    ///
    /// An application also receives activities of this type for the pages of sites that approve it
    /// (`Docs/activities.md`), without declaring the type.
    public static let browsingWeb = "org.remotesystems.browsing-web"
    /// The length of the content above which continuing takes noticeably longer, in bytes: 3 KiB. The host logs a
    /// warning.
    public static let recommendedPayloadBytes = 3 << 10
    /// The maximum length of a title that other systems see, in bytes of UTF-8. Longer ones are cut off.
    package static let maxTitleBytes = ActivityDescriptor.maxTitleBytes

    /// The random id of this object. An offer of the activity has the same id (``UserActivityOffer/id``); the activity
    /// that a receiver continues has an id of its own.
    public let id = UUID()
    /// The kind of activity, in reverse-DNS form.
    public let type: String
    /// Whether the application that offered the activity did not save its newest state in time, so that ``userInfo`` is
    /// older than what its user saw. `false` for an activity of this application.
    public let isStale: Bool

    private struct State {
        var machine = UserActivityStateMachine()
        weak var delegate: (any UserActivityDelegate)?
        var responders = ResponderList()
        /// The round of saving that runs, which several receivers share.
        var saving: Task<Bool, Never>?
        /// Notifies the delegate that the activity was continued.
        var notification: Task<Void, Never>?
        /// Where the activity is current.
        var publisher: (any ActivityPublisher)?
        var observers = StreamReaders<Void>()
    }

    private let state = Mutex(State())
    private let streams: ContinuationStreams?

    /// Creates an activity. It is not offered before ``becomeCurrent(at:)``.
    ///
    /// - Parameters:
    ///   - type: the kind of activity, in reverse-DNS form: at most 256 letters, digits, `-`, `_` and `.`.
    ///     ``becomeCurrent(at:)`` throws for another one.
    ///   - title: the title as users see it. Other systems show at most 512 bytes of it, without control characters.
    ///     Defaults to `nil`.
    ///   - supportsContinuationStreams: whether the application supplies streams to the one that continues the
    ///     activity. Defaults to `false`.
    public init(type: String, title: String? = nil, supportsContinuationStreams: Bool = false) {
        self.type = type
        self.isStale = false
        self.streams = nil
        self.state.withLock { state in
            state.machine.attributes.title = title
            state.machine.attributes.supportsContinuationStreams = supportsContinuationStreams
        }
    }

    /// Creates the activity that an application continues.
    init(continuing payload: ActivityPayload, streams: ContinuationStreams?) {
        self.type = payload.type
        self.isStale = payload.isStale
        self.streams = streams
        self.state.withLock { state in
            state.machine.attributes = payload.attributes
            state.machine.set(userInfo: payload.userInfo)
        }
    }

    /// Creates an activity from one that was saved.
    convenience init(saved payload: ActivityPayload) {
        self.init(type: payload.type)
        self.state.withLock { state in
            state.machine.attributes = payload.attributes
            state.machine.set(userInfo: payload.userInfo)
        }
    }

    deinit {
        self.state.withLock { $0.observers.finish() }
    }

    // MARK: Content

    /// The content: what the other system needs to continue. Defaults to an empty set.
    ///
    /// Values are arrays, data, dates, dictionaries, null, numbers, sets, strings and URLs. They are checked when the
    /// content is sent: at most ``UserActivityHost/maxPayloadBytes``, and best less than
    /// ``recommendedPayloadBytes``.
    public var userInfo: ValueSet {
        get { self.state.withLock { $0.machine.userInfo } }
        set {
            self.state.withLock { $0.machine.set(userInfo: newValue) }
            self.changed()
        }
    }

    /// Adds entries to ``userInfo``. An entry replaces the one with the same key; others stay.
    public func addUserInfoEntries(_ entries: ValueSet) {
        self.state.withLock { $0.machine.add(entries) }
        self.changed()
    }

    /// Whether the application has changes that are not in ``userInfo`` yet. Defaults to `false`.
    ///
    /// When another system continues the activity, the delegate is asked to save if this is `true`. The flag is cleared
    /// before that, and the application sets it again after any later change.
    public var needsSave: Bool {
        get { self.state.withLock { $0.machine.needsSave } }
        set {
            self.state.withLock { $0.machine.set(needsSave: newValue) }
            self.changed()
        }
    }

    /// The object that saves the activity and learns what happens to it. Not retained.
    public var delegate: (any UserActivityDelegate)? {
        get { self.state.withLock { $0.delegate } }
        set { self.state.withLock { $0.delegate = newValue } }
    }

    // MARK: Responders

    /// Lets an object fill in a part of the content. The activity does not keep it alive.
    ///
    /// An activity that has had responders ends with them: when the last one is removed, the activity is invalidated.
    /// When the last one is released without having been removed, the activity is invalidated at the next attempt to
    /// continue it, and at the latest when its offer is refreshed. Adding a responder twice has no effect.
    public func addResponder(_ responder: any ActivityResponder) {
        self.state.withLock { $0.responders.add(responder) }
    }

    /// Removes a responder. If it was the last one, the activity is invalidated.
    public func removeResponder(_ responder: any ActivityResponder) {
        self.state.withLock { $0.responders.remove(responder) }
        self.endIfUnmanaged()
    }

    /// Invalidates the activity if its last responder is gone.
    func endIfUnmanaged() {
        if self.state.withLock({ $0.responders.hasEnded }) { self.invalidate() }
    }

    /// Whether the activity was invalidated.
    var isInvalidated: Bool { self.state.withLock { $0.machine.phase == .invalidated } }

    // MARK: Properties

    /// The title as users see it. Defaults to `nil`.
    public var title: String? {
        get { self.attributes.title }
        set { self.change { $0.title = newValue } }
    }

    /// An address that shows the same in a browser. Other systems open it if no application continues the activity.
    /// Defaults to `nil`.
    ///
    /// ``becomeCurrent(at:)`` throws unless the scheme is `http` or `https`, and for an address with a user name or a
    /// password. If such an address is set while the activity is current, the activity is not offered until the address
    /// is corrected, and the host logs a warning.
    public var webpageURL: URL? {
        get { self.attributes.webpageURL }
        set { self.change { $0.webpageURL = newValue } }
    }

    /// The web address from which the user came. Defaults to `nil`. The rules of ``webpageURL`` apply.
    public var referrerURL: URL? {
        get { self.attributes.referrerURL }
        set { self.change { $0.referrerURL = newValue } }
    }

    /// Whether the application supplies streams to the one that continues the activity.
    public var supportsContinuationStreams: Bool {
        get { self.attributes.supportsContinuationStreams }
        set { self.change { $0.supportsContinuationStreams = newValue } }
    }

    /// The time after which the activity is no longer offered. Defaults to `nil`: it is offered as long as it is
    /// current.
    public var expirationDate: Date? {
        get { self.attributes.expirationDate }
        set { self.change { $0.expirationDate = newValue } }
    }

    /// The keys of ``userInfo`` without which the activity cannot be restored later. Defaults to none.
    public var requiredUserInfoKeys: Set<String> {
        get { self.attributes.requiredUserInfoKeys }
        set { self.change { $0.requiredUserInfoKeys = newValue } }
    }

    /// Words by which the activity can be found. Defaults to none.
    public var keywords: Set<String> {
        get { self.attributes.keywords }
        set { self.change { $0.keywords = newValue } }
    }

    /// Identifies the window or document that the activity belongs to. Defaults to `nil`.
    ///
    /// It is part of the offer, so other systems of the account see it before the activity is continued: it must not
    /// contain a secret. A longer one than 1 KiB is only in the content. Valid length: 0–4096 bytes of UTF-8.
    public var targetContentIdentifier: String? {
        get { self.attributes.targetContentIdentifier }
        set { self.change { $0.targetContentIdentifier = newValue } }
    }

    /// Identifies the activity in the store of saved activities. Defaults to `nil`.
    public var persistentIdentifier: String? {
        get { self.attributes.persistentIdentifier }
        set { self.change { $0.persistentIdentifier = newValue } }
    }

    /// The version of the content's format, as the application counts it. Defaults to `nil`.
    ///
    /// An application that does not read the version of an activity refuses to continue it with
    /// ``ContinuationError/Code/versionNotSupported``.
    public var payloadVersion: Int? {
        get { self.attributes.payloadVersion }
        set { self.change { $0.payloadVersion = newValue } }
    }

    /// Whether other systems may continue the activity. Defaults to `true`.
    ///
    /// An activity with `false` can become its application's current one, in place of the former one, but is not
    /// offered. The flag can be changed while the activity is current: the offer ends, and begins again.
    public var isEligibleForHandoff: Bool {
        get { self.attributes.isEligibleForHandoff }
        set { self.change { $0.isEligibleForHandoff = newValue } }
    }

    /// Whether the activity can be found in the store of saved activities. Defaults to `false`.
    public var isEligibleForSearch: Bool {
        get { self.attributes.isEligibleForSearch }
        set { self.change { $0.isEligibleForSearch = newValue } }
    }

    /// Stored only; it has no effect. Defaults to `false`.
    public var isEligibleForPublicIndexing: Bool {
        get { self.attributes.isEligibleForPublicIndexing }
        set { self.change { $0.isEligibleForPublicIndexing = newValue } }
    }

    /// Stored only; it has no effect. Defaults to `false`.
    public var isEligibleForPrediction: Bool {
        get { self.attributes.isEligibleForPrediction }
        set { self.change { $0.isEligibleForPrediction = newValue } }
    }

    var attributes: ActivityAttributes { self.state.withLock { $0.machine.attributes } }

    private func change(_ change: (inout ActivityAttributes) -> Void) {
        let (isOutdated, publisher) = self.state.withLock { ($0.machine.change(change), $0.publisher) }
        if isOutdated { publisher?.update(self) }
        self.changed()
    }

    /// A value after each change of the activity. Each access returns a new sequence; changes that were not read are
    /// merged into one. It ends when the activity is invalidated or released, or the reading task is cancelled.
    public var changes: AsyncStream<Void> {
        self.state.withLock { state in
            let (changes, id) = state.observers.add()
            if state.machine.phase == .invalidated { state.observers.finish(id) }
            return changes
        }
    }

    private func changed() {
        self.state.withLock { $0.observers.yield(()) }
    }

    // MARK: Currency

    /// Whether the activity is its application's current one.
    public var isCurrent: Bool { self.state.withLock { $0.machine.phase == .current } }

    /// Makes the activity the application's current one, and offers it to the other systems if it
    /// ``isEligibleForHandoff``. The former one is no longer offered.
    ///
    /// - Parameter host: the application's host, which must be running. Defaults to `nil`: the only one that runs in
    ///   this process.
    /// - Throws: `RemoteSystemError` with the code `misuse` when the activity was invalidated, when no host runs or
    ///   several run, or hand-off is switched off; with the code `invalidArgument` when the type, an address or an
    ///   identifier is not valid, or ``expirationDate`` has passed; with the code `localResources` when too much is
    ///   published.
    public func becomeCurrent(at host: UserActivityHost? = nil) async throws {
        try ActivityTypeName.check(self.type)
        try self.attributes.check()
        guard self.expirationDate.map({ $0.timeIntervalSinceNow > 0 }) ?? true else {
            throw RemoteSystemError(
                .invalidArgument,
                "The expiration date of the activity has passed. Set a later one, or nil.",
                side: .local
            )
        }
        try await self.becomeCurrent(publishedBy: try host?.origin ?? ActivityPublishers.shared.only())
    }

    /// Makes the activity current where the publisher offers it. If the activity ends before that, it is not offered.
    func becomeCurrent(publishedBy publisher: any ActivityPublisher) async throws {
        let (isPossible, former) = self.state.withLock { state -> (Bool, (any ActivityPublisher)?) in
            guard state.machine.becomeCurrent() else { return (false, nil) }
            defer { state.publisher = publisher }
            return (true, state.publisher === publisher ? nil : state.publisher)
        }
        guard isPossible else {
            throw RemoteSystemError(
                .misuse,
                "An invalidated activity cannot become current. Create a new one.",
                side: .local
            )
        }
        former?.withdraw(self)
        do {
            try await publisher.makeCurrent(self)
        } catch {
            self.lostCurrency(at: publisher)
            throw error
        }
        // The publisher ignores the end of an activity that is not current there yet.
        if !self.isCurrent(at: publisher) { publisher.withdraw(self) }
        self.changed()
    }

    /// Makes the activity current at a publisher that takes it back, unless it has ended or is current already.
    func becomeCurrentAgain(at publisher: any ActivityPublisher) -> Bool {
        self.state.withLock { state in
            guard state.machine.phase == .idle, state.machine.becomeCurrent() else { return false }
            state.publisher = publisher
            return true
        }
    }

    private func isCurrent(at publisher: any ActivityPublisher) -> Bool {
        self.state.withLock { $0.machine.phase == .current && $0.publisher === publisher }
    }

    /// Makes an activity that the application has continued its own: the current one, which other systems can continue.
    ///
    /// The streams of the former application do not pass on. If the application supplies streams itself, set
    /// ``supportsContinuationStreams`` and a ``delegate`` afterwards.
    ///
    /// - Throws: the errors of ``becomeCurrent(at:)``.
    public func adopt(at host: UserActivityHost? = nil) async throws {
        self.supportsContinuationStreams = false
        try await self.becomeCurrent(at: host)
    }

    /// Ends the offer. The activity can become current again.
    public func resignCurrent() { self.end { $0.resign() } }

    /// Ends the activity. It can never become current again.
    public func invalidate() {
        self.end { $0.invalidate() }
        self.state.withLock { $0.observers.finish() }
    }

    private func end(_ change: (inout UserActivityStateMachine) -> UserActivityStateMachine.Consequence) {
        let (consequence, publisher) = self.state.withLock { (change(&$0.machine), $0.publisher.take()) }
        if consequence == .withdraw { publisher?.withdraw(self) }
        self.changed()
    }

    /// The publisher has ended the offer. No effect if the activity is current at another one.
    func lostCurrency(at publisher: any ActivityPublisher) {
        self.state.withLock { state in
            guard state.publisher === publisher else { return }
            _ = state.machine.resign()
            state.publisher = nil
        }
        self.changed()
    }

    // MARK: Continuing

    /// Opens streams to the application that offered the activity. Each call opens another pair.
    ///
    /// - Returns: the input, which the other application writes, and the output, which it reads.
    /// - Throws: ``ContinuationError`` with the code ``ContinuationError/Code/streamsNotSupported`` when that
    ///   application supplies none, with ``ContinuationError/Code/streamFailed`` when the activity is not one that the
    ///   application is continuing now, or the stream could not be opened.
    public func continuationStreams() async throws(ContinuationError) -> (
        input: ContinuationInputStream, output: ContinuationOutputStream
    ) {
        guard let streams else {
            throw ContinuationError(
                .streamFailed,
                "Only an activity that the application continues has streams to another system.",
                side: .local
            )
        }
        let stream = try await streams.open()
        return (ContinuationInputStream(stream: stream), ContinuationOutputStream(stream: stream))
    }

    /// Saves the activity, if the application has changes. Receivers at the same time share one round.
    ///
    /// - Returns: whether the content is complete. `false` if the application did not save in time.
    func save(within timeout: Duration, clock: FeatureClock) async -> Bool {
        self.endIfUnmanaged()
        let round = self.state.withLock { state -> Task<Bool, Never>? in
            if let saving = state.saving { return saving }
            let responders = state.responders.all
            guard state.machine.beginSaving(hasResponders: !responders.isEmpty) else { return nil }
            let delegate = state.delegate
            let saving = clock.task { await self.round(responders, delegate, within: timeout, clock: clock) }
            state.saving = saving
            return saving
        }
        return await round?.value ?? true
    }

    private func round(
        _ responders: [any ActivityResponder],
        _ delegate: (any UserActivityDelegate)?,
        within timeout: Duration,
        clock: FeatureClock
    ) async -> Bool {
        let isSaved: Bool? = await clock.first(within: timeout) {
            for responder in responders { await responder.updateUserActivityState(self) }
            await delegate?.userActivityWillSave(self)
            return true
        }
        self.state.withLock { state in
            state.machine.endSaving(isComplete: isSaved != nil)
            state.saving = nil
        }
        return isSaved ?? false
    }

    func continued(by receiver: UserActivityReceiver, clock: FeatureClock) {
        guard let delegate else { return }
        let notification = clock.task { await delegate.userActivityWasContinued(self, by: receiver) }
        self.state.withLock { $0.notification = notification }
    }

    /// The receiver has failed to continue the activity. The delegate may still be giving the task up: it has a limited
    /// time for that before the activity is offered again.
    func returned(
        by receiver: UserActivityReceiver,
        within limit: Duration,
        clock: FeatureClock,
        offerAgain: @escaping @Sendable (UserActivity) -> Void
    ) {
        _ = clock.task {
            if let notification = self.state.withLock({ $0.notification.take() }) {
                _ = await clock.first(within: limit) { await notification.value }
            }
            offerAgain(self)
            self.changed()
            await self.delegate?.userActivityWasReturned(self, by: receiver)
        }
    }

    func received(_ stream: RemoteSystemStream) async {
        guard let delegate else { return stream.abort("The application does not use the streams.") }
        await delegate.userActivity(
            self,
            didReceive: ContinuationInputStream(stream: stream),
            ContinuationOutputStream(stream: stream)
        )
    }
}
