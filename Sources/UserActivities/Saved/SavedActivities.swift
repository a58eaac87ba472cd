// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystems
internal import RemoteSystemsIdentity
internal import ValueSets

/// The activities that an application has saved on this system, to find and restore them later.
///
/// ```swift
/// let saved = SavedActivities(configuration)
/// try await saved.save(activity)
/// let found = try saved.search("minutes")
/// ```
///
/// The activities are in a file of the state directory, separately for each application, and are not sent to other
/// systems. They stay when the process ends or the account changes. All methods read or write a small file.
public struct SavedActivities: Sendable {
    /// The maximum number of activities. When there are more, the oldest ones are deleted.
    public static let maxActivities = 256
    /// The maximum length of all activities together, in bytes: 512 KiB. When there is more, the oldest ones are
    /// deleted.
    public static let maxBytes = 512 << 10
    /// The maximum length of an activity's content, in bytes: 128 KiB. Only what does not exceed
    /// ``UserActivityHost/maxPayloadBytes`` can also be handed over.
    public static let maxActivityBytes = 128 << 10

    private let configuration: RemoteSystemsConfiguration
    private var file: StateFileReference { StateFileReference(self.configuration) }

    /// Creates the access to the activities of an application.
    ///
    /// - Parameter configuration: the application's configuration. Its id and its state directory count.
    public init(_ configuration: RemoteSystemsConfiguration) {
        self.configuration = configuration
    }

    /// Saves an activity, in place of one with the same ``UserActivity/persistentIdentifier``.
    ///
    /// If the activity has changes, its responders and its delegate save them first. If it has
    /// ``UserActivity/requiredUserInfoKeys``, only these keys of the content are stored, and only their length counts.
    ///
    /// - Parameters:
    ///   - activity: an activity with a persistent identifier of 1 to 1024 bytes.
    ///   - timeout: the time that the application has to save its changes. Defaults to 3 s. After it, the last state
    ///     is stored.
    /// - Throws: `RemoteSystemError` with the code `invalidArgument` when the identifier or a required key is missing,
    ///   the time of the activity is over, or its content is not valid or exceeds ``maxActivityBytes``; with the code
    ///   `identity` when the file cannot be read or written. Nothing is changed then.
    public func save(_ activity: UserActivity, timeout: Duration = .seconds(3)) async throws {
        guard let identifier = activity.persistentIdentifier, (1...1024).contains(identifier.utf8.count) else {
            throw Self.invalid("An activity is saved under its 'persistentIdentifier', of 1 to 1024 bytes.")
        }
        _ = await activity.save(within: timeout, clock: FeatureClock(self.configuration))
        guard activity.expirationDate.map({ $0 > Date() }) ?? true else {
            throw Self.invalid("The activity has expired, so it is not saved.")
        }
        try ActivityTypeName.check(activity.type)
        let payload: ActivityPayload
        do {
            payload = try ActivityPayload(saving: activity)
        } catch {
            throw RemoteSystemError(.invalidArgument, error.message, side: .local, cause: error)
        }
        let entry = SavedActivityList.Entry(identifier: identifier, payload: payload)
        try self.file.update { list in
            list.save(entry, maxCount: Self.maxActivities, maxBytes: Self.maxBytes)
            return true
        }
    }

    /// All activities, newest first.
    ///
    /// - Throws: `RemoteSystemError` with the code `identity` when the file cannot be read.
    public func all() throws(RemoteSystemError) -> [UserActivity] {
        try self.file.read().entries.reversed().map { UserActivity(saved: $0.payload) }
    }

    /// Returns an activity as a new object; `nil` if there is none with the identifier.
    ///
    /// - Throws: `RemoteSystemError` with the code `identity` when the file cannot be read.
    public func activity(_ identifier: String) throws(RemoteSystemError) -> UserActivity? {
        try self.file.read().entries.first { $0.identifier == identifier }.map { UserActivity(saved: $0.payload) }
    }

    /// Finds activities with ``UserActivity/isEligibleForSearch``, newest first.
    ///
    /// - Parameter text: words. Each must be the beginning of a word of the title or of a keyword.
    /// - Throws: `RemoteSystemError` with the code `identity` when the file cannot be read.
    public func search(_ text: String) throws(RemoteSystemError) -> [UserActivity] {
        try self.file.read().search(text).map { UserActivity(saved: $0.payload) }
    }

    /// Lets objects take their state from a saved activity, one after the other, as after a continuation.
    ///
    /// - Returns: whether there is an activity with the identifier.
    /// - Throws: `RemoteSystemError` with the code `identity` when the file cannot be read.
    public func restore(
        _ identifier: String,
        into objects: [any ActivityRestoring]
    ) async throws(RemoteSystemError) -> Bool {
        guard let activity = try self.activity(identifier) else { return false }
        for object in objects { await object.restoreUserActivityState(activity) }
        return true
    }

    /// Deletes activities. Those that do not exist are ignored.
    ///
    /// - Throws: `RemoteSystemError` with the code `identity` when the file cannot be read or written.
    public func delete(_ identifiers: Set<String>) throws(RemoteSystemError) {
        try self.file.update { $0.delete(identifiers) }
    }

    /// Deletes all activities of the application, also if the file is damaged.
    ///
    /// - Throws: `RemoteSystemError` with the code `identity` when the file cannot be written.
    public func deleteAll() throws(RemoteSystemError) { try self.file.clear() }

    private static func invalid(_ text: String) -> RemoteSystemError {
        RemoteSystemError(.invalidArgument, text, side: .local)
    }
}

/// The file of an application's saved activities.
private struct StateFileReference {
    private let account: RemoteSystemsAccount
    private let application: String

    init(_ configuration: RemoteSystemsConfiguration) {
        self.account = RemoteSystemsAccount(configuration)
        self.application = configuration.applicationID
    }

    func read() throws(RemoteSystemError) -> SavedActivityList {
        let (bytes, path) = try self.account.contents(of: .savedActivities(of: self.application))
        var list = try Self.list(bytes, path)
        list.expire(now: Date())
        return list
    }

    /// - Parameter change: changes the list, and returns whether it did.
    func update(_ change: (inout SavedActivityList) -> Bool) throws(RemoteSystemError) {
        try self.account.update(.savedActivities(of: self.application)) { bytes, path throws(RemoteSystemError) in
            var list = try Self.list(bytes, path)
            list.expire(now: Date())
            return change(&list) ? try Self.bytes(list, path) : nil
        }
    }

    func clear() throws(RemoteSystemError) {
        try self.account.update(.savedActivities(of: self.application)) { _, path throws(RemoteSystemError) in
            try Self.bytes(SavedActivityList(), path)
        }
    }

    private static func list(_ bytes: [UInt8]?, _ path: String) throws(RemoteSystemError) -> SavedActivityList {
        guard let bytes else { return SavedActivityList() }
        do {
            return try SavedActivityList(file: bytes)
        } catch {
            throw RemoteSystemError(
                .identity,
                """
                \(path) is damaged. It keeps the activities that the application has saved. Call 'deleteAll()' or \
                delete the file to begin again.
                """,
                side: .local,
                cause: error
            )
        }
    }

    private static func bytes(_ list: SavedActivityList, _ path: String) throws(RemoteSystemError) -> [UInt8] {
        do {
            return try list.file()
        } catch {
            throw RemoteSystemError(.identity, "\(path) cannot be written: \(error)", side: .local, cause: error)
        }
    }
}
