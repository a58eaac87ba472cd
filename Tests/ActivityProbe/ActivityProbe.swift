// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import RemoteSystems
import Synchronization
import UserActivities
import ValueSets

/// An application that offers and continues activities, and records what happens to it in a file. It ends by itself
/// after three minutes.
///
/// Arguments: its id; the file; the network interface; the activity types that it continues, separated by commas, or
/// `-`; then any of
///
/// - `offer=TYPE`: offers an activity of the type whose content is its id, with a stream of 1 MiB;
/// - `stop=STEP`: blocks for ever when the step is reached: `decide`, `received`, `streaming`, `restore`, `save` or
///   `stream`;
/// - `hold=STEP`: blocks there until a file exists whose name is that of the record with `.go` at its end;
/// - `fail=restore`: states that it could not continue an activity, after it has received it;
/// - `measure=COUNT`: continues so many activities of other systems in this process, and prints the median of the times
///   until its handler had the content, in milliseconds;
/// - `dead=SECONDS`: how long a silent peer counts as present;
/// - `crowd=COUNT`: so many applications that publish 1024 activities each, against all rules.
@main
struct ActivityProbe {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 5 else { exit(64) }
        func option(_ name: String) -> String? {
            arguments.dropFirst(5).first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
        }
        let steps = Steps(file: arguments[2], last: option("stop"), held: option("hold"))
        steps.record("started")
        var configuration = RemoteSystemsConfiguration(
            applicationID: arguments[1],
            network: arguments[3] == "lo" ? .loopback : .interfaces([arguments[3]])
        )
        // Generous, since no test measures how fast a handshake is.
        configuration.transport.helloTimeout = .seconds(10)
        if let seconds = option("dead").flatMap(Int.init) { configuration.transport.deadPeerTime = .seconds(seconds) }
        if let count = option("crowd").flatMap(Int.init) { return try await Self.crowd(count, configuration, steps) }
        var options = UserActivityHost.Options()
        options.saveTimeout = .seconds(30)
        options.decisionTimeout = .seconds(30)
        options.contentTimeout = .seconds(60)
        if let count = option("measure").flatMap(Int.init) {
            return try await Self.measure(count, arguments[4], configuration)
        }
        let host = UserActivityHost(
            configuration,
            activityTypes: arguments[4] == "-" ? [] : arguments[4].split(separator: ",").map(String.init),
            options: options,
            handler: Receiver(steps: steps, isContinued: option("fail") != "restore")
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await host.run() }
            // Limits the life of an application that a failed test has left behind.
            group.addTask { try await Task.sleep(for: .seconds(180)) }
            if let type = option("offer") {
                group.addTask { try await Self.offer(type, of: arguments[1], at: host, steps) }
            }
            _ = try await group.next()
            group.cancelAll()
        }
    }

    private static func offer(
        _ type: String,
        of application: String,
        at host: UserActivityHost,
        _ steps: Steps
    ) async throws {
        _ = try await host.host.port
        let activity = UserActivity(type: type, title: "A text", supportsContinuationStreams: true)
        activity.userInfo = ["Author": .string(application)]
        activity.needsSave = true
        let author = Author(steps: steps)
        activity.delegate = author
        try await activity.becomeCurrent(at: host)
        steps.record("offering")
        try await Task.sleep(for: .seconds(180))
        withExtendedLifetime((activity, author)) {}
    }
}

extension ActivityProbe {
    private static func measure(_ count: Int, _ type: String, _ configuration: RemoteSystemsConfiguration) async throws
    {
        let arrival = Mutex(ContinuousClock.now)
        let host = UserActivityHost(
            configuration,
            activityTypes: [type],
            handler: .closure { _ in arrival.withLock { $0 = .now } }
        )
        let watcher = UserActivityWatcher(configuration)
        try await watcher.start()
        var times: [Duration] = []
        var done: Set<UUID> = []
        for await offers in watcher.changes {
            guard let offer = offers.first(where: { $0.activityType == type && !done.contains($0.id) }) else {
                continue
            }
            done.insert(offer.id)
            let start = ContinuousClock.now
            try await host.continue(offer)
            times.append(arrival.withLock { $0 } - start)
            if times.count == count { break }
        }
        await watcher.stop()
        print(times.sorted()[count / 2] / .milliseconds(1))
    }

    /// Runs applications that publish as many activities as a topic holds.
    private static func crowd(_ count: Int, _ configuration: RemoteSystemsConfiguration, _ steps: Steps) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var hosts: [RemoteSystemHost] = []
            for number in 0..<count {
                let topic = ApplicationTopic("org.remotesystems.activities")
                for activity in 0..<ApplicationTopic.maxRecords {
                    try topic.put(
                        UUID().uuidString.lowercased(),
                        [
                            "Type": "com.example.crowd", "Title": .string("Text \(activity)"), "Lifetime": 600,
                            "Expires": .date(secondsSince1970: 4_000_000_000),
                        ]
                    )
                }
                var own = configuration
                own.applicationID += ".\(number)"
                var options = RemoteSystemHost.Options()
                options.features.append(HostFeature(topics: [topic]))
                let host = RemoteSystemHost(own, services: [], options: options)
                hosts.append(host)
                group.addTask { try await host.run() }
            }
            for host in hosts { _ = try await host.port }
            steps.record("offering")
            try await Task.sleep(for: .seconds(180))
            group.cancelAll()
        }
    }
}

/// Records the steps of a continuation, and stops at one of them.
struct Steps: Sendable {
    let file: String
    /// The step at which to stop.
    let last: String?
    /// The step at which to wait.
    let held: String?

    func record(_ line: String) {
        guard let record = unsafe fopen(self.file, "a") else { return }
        unsafe fputs(line + "\n", record)
        unsafe fclose(record)
    }

    /// Records a step, and blocks for ever if it is the last one. Blocks the thread, as a program does that hangs.
    func reached(_ step: String, _ detail: String = "") {
        self.record(detail.isEmpty ? step : "\(step) \(detail)")
        while step == self.last { sleep(60) }
        while step == self.held, !FileManager.default.fileExists(atPath: "\(self.file).go") { usleep(20_000) }
    }
}

final class Author: UserActivityDelegate {
    let steps: Steps

    init(steps: Steps) { self.steps = steps }

    func userActivityWillSave(_ activity: UserActivity) async {
        activity.addUserInfoEntries(["Text": "An unfinished sentence"])
        self.steps.reached("save")
    }

    func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
        self.steps.reached("handed-over", receiver.claimedApplicationID)
    }

    func userActivity(
        _ activity: UserActivity,
        didReceive input: ContinuationInputStream,
        _ output: ContinuationOutputStream
    ) async {
        do {
            try await output.write([UInt8](repeating: 7, count: 1 << 20))
            self.steps.reached("stream")
            try await output.finish()
            for try await _ in input {}
            self.steps.record("stream-ended")
        } catch {
            self.steps.record("stream-failed \(error)")
        }
    }
}

struct Receiver: ContinuationHandler {
    let steps: Steps
    let isContinued: Bool

    func willContinueUserActivity(type: String) async -> Bool {
        self.steps.reached("decide", type)
        return true
    }

    func didProgress(_ progress: ContinuationProgress) {
        if progress.step == .received { self.steps.reached("received") }
    }

    func continueUserActivity(
        _ activity: UserActivity,
        restore: @escaping @Sendable ([any ActivityRestoring]) async -> Void
    ) async throws -> Bool {
        if let page = activity.webpageURL { self.steps.record("page \(page.absoluteString)") }
        let text = activity.userInfo["Text"]?.string ?? "nothing"
        guard activity.supportsContinuationStreams else {
            self.steps.reached("restore", text)
            return self.isContinued
        }
        let streams = try await activity.continuationStreams()
        self.steps.reached("streaming")
        var count = 0
        for try await bytes in streams.input { count += bytes.count }
        try await streams.output.finish()
        self.steps.reached("restore", "\(text), \(count)")
        return self.isContinued
    }

    func didFailToContinueUserActivity(type: String, error: ContinuationError) async {
        self.steps.record("failed \(error.code)")
    }
}
