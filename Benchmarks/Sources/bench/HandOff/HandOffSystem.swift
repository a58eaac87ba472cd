// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Measuring
import RemoteSystems
import Synchronization
import UserActivities
import ValueSets

/// A system that offers activities, and lists and continues those of another one, as an application does.
final class HandOffSystem: Sendable {
    private struct State {
        /// When each activity was first listed.
        var listed: [UUID: Int64] = [:]
        /// When the list first had so many offers.
        var counted: [Int: Int64] = [:]
        var offers: [UserActivityOffer] = []
        /// When the handler received the content, and when the stream had ended.
        var continued: Int64 = 0
        var streamBegan: Int64 = 0
        var streamEnded: Int64 = 0
        var streamBytes = 0
    }

    private static let type = "org.remotesystems.benchmark.activity"
    /// The content of an activity, in bytes: the recommended maximum, without the names of the keys.
    private static let contentBytes = UserActivity.recommendedPayloadBytes - 100

    /// The directory of the run, for the files that are sent and received.
    private let directory: String
    private let host: UserActivityHost
    private let watcher: UserActivityWatcher
    private let tasks: Mutex<[Task<Void, Never>]>
    private let sender = Mutex<Sender?>(nil)
    private let state: Shared

    private final class Shared: Sendable {
        let content = Mutex(State())
    }

    /// - Parameters:
    ///   - number: the number of a system that ``PackedSystems`` has created.
    ///   - directory: the directory of the run.
    init(_ number: Int, of systems: PackedSystems, _ directory: String, folder: String) async throws {
        let configuration = systems.configuration(number, source: try FolderDiscovery(folder: folder))
        let state = Shared()
        let host = UserActivityHost(
            configuration,
            activityTypes: [Self.type],
            handler: .closure { activity in
                state.content.withLock { $0.continued = monotonicNanoseconds() }
                guard activity.supportsContinuationStreams else { return }
                try await Self.receive(activity, state, into: StreamedFiles.received(in: directory))
            }
        )
        let watcher = UserActivityWatcher(configuration)
        self.directory = directory
        self.host = host
        self.watcher = watcher
        self.state = state
        self.tasks = Mutex([])
        self.start(Task { try? await host.run() })
        _ = try await host.host.port
    }

    /// Starts to list the offers of the others.
    func watch() async throws {
        try await self.watcher.start()
        let changes = self.watcher.changes
        self.start(
            Task { [state] in
                for await offers in changes {
                    let now = monotonicNanoseconds()
                    state.content.withLock { content in
                        content.offers = offers
                        if content.counted[offers.count] == nil { content.counted[offers.count] = now }
                        for offer in offers where content.listed[offer.id] == nil { content.listed[offer.id] = now }
                    }
                }
            }
        )
    }

    private func start(_ task: Task<Void, Never>) { self.tasks.withLock { $0.append(task) } }

    // MARK: Offering

    /// Makes an activity current.
    ///
    /// - Parameters:
    ///   - megabytes: what its stream sends; 0 for no stream.
    ///   - form: how it is sent.
    /// - Returns: its id, and the time before it became current.
    func offer(megabytes: Int, _ form: StreamForm) async throws -> (id: UUID, time: Int64) {
        let activity = UserActivity(type: Self.type, title: "An activity", supportsContinuationStreams: megabytes > 0)
        activity.userInfo = ["Text": .string(String(repeating: "x", count: Self.contentBytes))]
        activity.userInfo["IsFile"] = .bool(form == .file)
        let file = form == .file ? try StreamedFiles.sent(megabytes: megabytes, in: self.directory) : nil
        let sender = Sender(megabytes: megabytes, file: file)
        // An activity does not keep its delegate alive.
        self.sender.withLock { $0 = sender }
        activity.delegate = sender
        let start = monotonicNanoseconds()
        try await activity.becomeCurrent(at: self.host)
        return (activity.id, start)
    }

    private final class Sender: UserActivityDelegate {
        let megabytes: Int
        let file: String?

        init(megabytes: Int, file: String?) {
            self.megabytes = megabytes
            self.file = file
        }

        func userActivity(
            _ activity: UserActivity,
            didReceive input: ContinuationInputStream,
            _ output: ContinuationOutputStream
        ) async {
            do {
                if let file {
                    try await output.send(contentsOfFile: file)
                } else {
                    let part = [UInt8](repeating: 7, count: 1 << 20)
                    for _ in 0..<self.megabytes { try await output.write(part) }
                }
                try await output.finish()
                for try await _ in input {}
            } catch {
                output.abort("\(error)")
            }
        }
    }

    // MARK: Continuing

    /// Waits until an activity is listed, and returns when it was.
    func listed(_ id: UUID, within seconds: Double) async throws -> Int64 {
        let deadline = monotonicNanoseconds() + Int64(seconds * 1e9)
        while monotonicNanoseconds() < deadline {
            // The time was noted, so polling does not make it less exact.
            if let time = self.state.content.withLock({ $0.listed[id] }) { return time }
            try await Task.sleep(for: .milliseconds(2))
        }
        throw BenchError("The activity was not listed within \(seconds) s.")
    }

    /// Waits until so many activities are listed, and returns when they were.
    func listed(count: Int, within seconds: Double) async throws -> Int64 {
        let deadline = monotonicNanoseconds() + Int64(seconds * 1e9)
        while monotonicNanoseconds() < deadline {
            if let time = self.state.content.withLock({ $0.counted[count] }) { return time }
            try await Task.sleep(for: .milliseconds(20))
        }
        let present = self.state.content.withLock { $0.offers.count }
        throw BenchError("\(present) of \(count) activities were listed within \(seconds) s.")
    }

    /// Lists all offers, and returns the time that it took.
    func list() -> Int64 {
        let start = monotonicNanoseconds()
        let count = self.watcher.offers.count
        let end = monotonicNanoseconds()
        return count > 0 ? end - start : 0
    }

    /// Continues an activity that is listed.
    ///
    /// - Returns: the time until the handler had the content; with a stream, the time until it had ended, and its
    ///   bytes.
    func `continue`(_ id: UUID) async throws -> Measurement {
        guard let offer = self.state.content.withLock({ $0.offers.first { $0.id == id } }) else {
            throw BenchError("The activity is not offered any more.")
        }
        let start = monotonicNanoseconds()
        try await self.host.continue(offer)
        let (continued, began, ended, bytes) = self.state.content.withLock { content in
            defer { content.streamBytes = 0 }
            return (content.continued, content.streamBegan, content.streamEnded, content.streamBytes)
        }
        guard bytes > 0 else {
            return Measurement(nanoseconds: [continued - start], elapsedNanoseconds: continued - start)
        }
        // As many operations as the same number of messages of 1 MiB.
        let count = bytes >> 20
        return Measurement(
            nanoseconds: Array(repeating: (ended - began) / Int64(count), count: count),
            elapsedNanoseconds: ended - began
        )
    }

    private static func receive(_ activity: UserActivity, _ state: Shared, into file: String) async throws {
        let began = monotonicNanoseconds()
        let (input, output) = try await activity.continuationStreams()
        var count = 0
        if activity.userInfo["IsFile"] == true {
            count = Int(try await input.receive(intoFile: file))
        } else {
            for try await bytes in input { count += bytes.count }
        }
        let ended = monotonicNanoseconds()
        state.content.withLock { content in
            content.streamBegan = began
            content.streamEnded = ended
            content.streamBytes = count
        }
        try await output.finish()
    }
}
