// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Logging
public import RemoteSystems
public import ServiceLifecycle
internal import Synchronization

/// The applications of this machine as their manifests in the XDG data directories describe them, and the ways to start them
/// (`Docs/host-daemon.md`).
///
/// A manifest is `remote-systems/applications/ID.json` in `$XDG_DATA_HOME` or one of `$XDG_DATA_DIRS`. Of two with one id the one in
/// the earlier directory counts. One that is not understood is left out and told in ``problems``.
///
/// ``run()`` looks for changes every two seconds.
public final class ApplicationRegistry: InstalledApplications, Service {
    private struct State {
        var manifests: [String: ApplicationManifest] = [:]
        /// The files that the manifests are in, by id.
        var files: [String: String] = [:]
        var problems: [ConfigurationFileError] = []
        var stamp: [FileStamp] = []
        var listeners: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var nextListener: UInt64 = 0
        var programs: [String: ApplicationProgram] = [:]
    }

    /// The program of an application that was started from here last.
    private struct ApplicationProgram {
        let program: StartedProgram
        /// Whether a manifest names it.
        let isNamed: Bool
        /// Whether it had only what the end of the one before it had left of the time to come up.
        var wasHeldUp: Bool
    }

    /// Where manifests are looked for, the first first.
    public let directories: [String]

    private let environment: [String: String]
    private let stateDirectory: String?
    private let logger: Logger
    private let state = Mutex(State())

    /// So many manifests are read.
    private static let maxManifests = 256
    private static let interval = Duration.seconds(2)
    /// The session bus has this long to let us in.
    private static let maxBusTime = Duration.seconds(5)
    /// A program that did not come up has this long to end when it is asked to.
    private static let grace = Duration.seconds(5)

    /// A registry of the manifests that are there now.
    ///
    /// - Parameters:
    ///   - environment: where the XDG directories are, and what applications that are started get of it.
    ///   - stateDirectory: the state directory of the host, so that what it starts is the same system; `nil` for the user's.
    ///   - logger: told of manifests that are not understood.
    public init(
        environment: [String: String] = ProcessInfo.processInfo.environment,
        stateDirectory: String? = nil,
        logger: Logger = Logger(label: "RemoteSystems")
    ) {
        self.environment = environment
        self.stateDirectory = stateDirectory
        self.logger = logger
        self.directories = Self.directories(environment)
        self.reload()
    }

    /// The directories of the XDG Base Directory Specification, in their order.
    package static func directories(_ environment: [String: String]) -> [String] {
        func absolute(_ name: String) -> [String] {
            (environment[name] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        }
        let home = absolute("XDG_DATA_HOME").first ?? absolute("HOME").first.map { $0 + "/.local/share" }
        var shared = absolute("XDG_DATA_DIRS")
        if shared.isEmpty { shared = ["/usr/local/share", "/usr/share"] }
        return (home.map { [$0] } ?? []).map { $0 + "/remote-systems/applications" }
            + shared.map { $0 + "/remote-systems/applications" }
    }

    /// What is wrong with manifests that were left out.
    public var problems: [ConfigurationFileError] { self.state.withLock { $0.problems } }

    /// The keys of manifests that this version does not know, each with file and line. They are ignored; the applications are not.
    public var warnings: [ConfigurationFileError] { Self.warnings(of: self.state.withLock { $0.manifests }) }

    private static func warnings(of manifests: [String: ApplicationManifest]) -> [ConfigurationFileError] {
        manifests.sorted { $0.key < $1.key }.flatMap(\.value.warnings)
    }

    /// The programs and desktop entries that manifests name and that cannot be started now, because they are not there or may
    /// not be run. Such an application is listed nevertheless: what it needs may be installed later.
    package func startProblems() async -> [ConfigurationFileError] {
        let (manifests, files) = self.state.withLock { ($0.manifests, $0.files) }
        var problems: [ConfigurationFileError] = []
        for (id, path) in files.sorted(by: { $0.value < $1.value }) {
            guard let start = manifests[id]?.start, let (key, text) = await Self.problem(with: start),
                let file = try? ConfigurationFile(path: path, limit: ApplicationManifest.largestFile)
            else { continue }
            problems.append(file.error(at: ["start", key], text))
        }
        return problems
    }

    private static func problem(with start: ApplicationStart) async -> (key: String, text: String)? {
        switch start {
        case .exec(let arguments):
            ProgramFile.problem(with: arguments[0]).map { ("exec", "'exec' cannot be run: \($0)") }
        case .desktop(let id):
            await BlockingCalls.run({ DesktopEntries.entry(id: id) }) == nil
                ? ("desktop", "There is no desktop entry \(id), or what it runs is not installed.") : nil
        case .dbus, .systemd: nil
        }
    }

    // MARK: Reading

    /// Reads all manifests again. Who listens to ``changes()`` is told when something is different.
    public func reload() {
        let stamp = self.stamp()
        var manifests: [String: ApplicationManifest] = [:]
        var files: [String: String] = [:]
        var problems: [ConfigurationFileError] = []
        // One that is not understood puts others of its name in the shade, too: it was meant to replace them.
        var seen: Set<String> = []
        for directory in self.directories {
            for name in Self.names(in: directory) where seen.insert(name).inserted {
                let path = "\(directory)/\(name)"
                do throws(ConfigurationFileError) {
                    guard seen.count <= Self.maxManifests else {
                        throw ConfigurationFileError(
                            path: path,
                            "It is left out: there are more than \(Self.maxManifests) manifests."
                        )
                    }
                    guard let file = try ConfigurationFile(path: path, limit: ApplicationManifest.largestFile) else {
                        // It may have gone this moment; a link stays.
                        guard (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil else {
                            continue
                        }
                        throw ConfigurationFileError(path: path, "This is a link to a file that is not there.")
                    }
                    guard let manifest = ApplicationManifest.read(file, problems: &problems) else { continue }
                    manifests[manifest.application.id] = manifest
                    files[manifest.application.id] = path
                } catch {
                    problems.append(error)
                }
            }
        }
        let (new, ignored, listeners) = self.state.withLock { state in
            let listeners = state.manifests == manifests ? [] : Array(state.listeners.values)
            let new = problems.filter { !state.problems.contains($0) }
            let known = Self.warnings(of: state.manifests)
            let ignored = Self.warnings(of: manifests).filter { !known.contains($0) }
            state.manifests = manifests
            state.files = files
            state.problems = problems
            state.stamp = stamp
            return (new, ignored, listeners)
        }
        for problem in new {
            self.logger.warning("An application's manifest is left out", metadata: ["reason": "\(problem)"])
        }
        for warning in ignored {
            self.logger.warning("A key of an application's manifest is ignored", metadata: ["reason": "\(warning)"])
        }
        for listener in listeners { listener.yield() }
    }

    private static func names(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
    }

    /// What tells that files were changed, without reading them.
    private struct FileStamp: Hashable {
        var path: String
        var changed: Date?
        var size: UInt64?
    }

    private func stamp() -> [FileStamp] {
        self.directories.flatMap { directory in
            Self.names(in: directory).prefix(Self.maxManifests + 1).map { name in
                let path = "\(directory)/\(name)"
                let attributes = try? FileManager.default.attributesOfItem(atPath: path)
                return FileStamp(
                    path: path,
                    changed: attributes?[.modificationDate] as? Date,
                    size: attributes?[.size] as? UInt64
                )
            }
        }
    }

    // MARK: InstalledApplications

    /// What is installed, by id in ascending order.
    public func applications() async -> [InstalledApplication] {
        self.state.withLock { $0.manifests.values.map(\.application) }.sorted { $0.id < $1.id }
    }

    /// An element whenever manifests were read that say something else than before.
    public func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = self.state.withLock { state in
            defer { state.nextListener += 1 }
            state.listeners[state.nextListener] = continuation
            return state.nextListener
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { state in _ = state.listeners.removeValue(forKey: id) }
        }
        return stream
    }

    /// Starts an application as its manifest says.
    public func start(_ id: String) async throws {
        guard let manifest = self.state.withLock({ $0.manifests[id] }) else {
            throw StartFailure("It is no longer installed.")
        }
        let bus = BusActivation(environment: self.environment)
        switch manifest.start {
        case .dbus(let name): try await bus.activate(name)
        case .systemd(let unit): try await bus.startUnit(unit)
        case .exec(let arguments): try await self.run(arguments, in: "/", of: id, isNamed: true)
        case .desktop(let entryID):
            guard let way = try await self.way(toEntry: entryID) else {
                throw StartFailure("There is no desktop entry \(entryID), or what it runs is not installed.")
            }
            switch way.start {
            case .activate(let busName, let path): try await bus.activateApplication(busName, objectPath: path)
            case .spawn(let arguments): try await self.run(arguments, in: way.directory ?? "/", of: id)
            case .refuse(let refusal): throw StartFailure(refusal.text)
            }
        }
    }

    /// How a desktop entry is started here with nothing to open, and in which directory if it says so; `nil` if there is none.
    private func way(toEntry id: String) async throws -> (start: DesktopStart, directory: String?)? {
        let environment = self.programEnvironment
        guard let entry = await BlockingCalls.run({ DesktopEntries.entry(id: id) }) else { return nil }
        let session = await BlockingCalls.run(atMost: Self.maxBusTime) {
            DesktopStart.Session(for: entry, in: environment, $0)
        }
        try Task.checkCancellation()
        guard let session else { throw StartFailure("\(id) is started over the session bus, which does not answer.") }
        return (DesktopStart(entry, uri: nil, session: session), entry.directory)
    }

    /// Runs a program, and watches it for as long as the host waits: one that fails is told at once.
    private func run(
        _ arguments: [String],
        in directory: String,
        of id: String,
        isNamed: Bool = false
    ) async throws {
        let program = try await self.program(arguments, in: directory, of: id, isNamed: isNamed)
        // One that puts itself into the background ends well, and may still come up.
        guard let end = await program.end(), !end.isSuccess else { return }
        throw StartFailure("\(arguments[0]): \(end) before it could be reached.")
    }

    /// One that was started before and still runs is not started a second time: it may come up yet, which ends the waiting, or
    /// it is on its way out.
    private func program(
        _ arguments: [String],
        in directory: String,
        of id: String,
        isNamed: Bool
    ) async throws -> StartedProgram {
        var wasHeldUp = false
        while let last = self.state.withLock({ $0.programs[id] })?.program, last.ended == nil {
            _ = await last.end()
            try Task.checkCancellation()
            wasHeldUp = true
        }
        var program = DetachedProgram(arguments, environment: self.programEnvironment, directory: directory)
        program.keepsOutput = self.environment["JOURNAL_STREAM"] != nil
        let started: StartedProgram
        do {
            started = try program.start()
        } catch {
            throw StartFailure("\(arguments[0]) cannot be run: \(error).")
        }
        let noted = ApplicationProgram(program: started, isNamed: isNamed, wasHeldUp: wasHeldUp)
        self.state.withLock { $0.programs[id] = noted }
        return started
    }

    /// Ends the program that was started for the application and hangs, without waiting for its end; the next start does.
    ///
    /// Only what a manifest names itself, and was started from here: what a desktop entry starts may have a window with somebody's work
    /// in it, and what D-Bus or systemd has started is theirs. One that was started late, because another one had to end first, is left
    /// alone until it has had a whole time to come up.
    public func didNotComeUp(_ id: String) async {
        let hanging = self.state.withLock { state -> StartedProgram? in
            guard let last = state.programs[id], last.isNamed, last.program.ended == nil, !last.program.isUnwanted
            else {
                return nil
            }
            state.programs[id]?.wasHeldUp = false
            return last.wasHeldUp ? nil : last.program
        }
        guard let program = hanging else { return }
        let metadata: Logger.Metadata = ["application": "\(id)", "process": "\(program.id)"]
        self.logger.warning("A program that was started and did not come up is ended", metadata: metadata)
        Task {
            let end = await program.terminate(grace: Self.grace)
            self.logger.notice(
                "A program that did not come up is gone",
                metadata: metadata.merging(["how": "\(end?.description ?? "")"]) { $1 }
            )
        }
    }

    private var programEnvironment: [String: String] {
        ApplicationEnvironment.passedOn(from: self.environment, stateDirectory: self.stateDirectory)
    }

    // MARK: Service

    /// Keeps up with the directories, until its task is cancelled or a graceful shutdown is asked for.
    public func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: Self.interval)
                let stamp = self.stamp()
                if self.state.withLock({ $0.stamp != stamp }) { self.reload() }
            }
        }
    }
}
