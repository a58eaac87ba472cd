// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Logging
public import RemoteSystems
public import ServiceLifecycle
internal import Synchronization

/// The installed applications of this machine, read from their manifests (`Docs/host-daemon.md`).
///
/// A manifest is the file `remote-systems/applications/ID.json` in `$XDG_DATA_HOME` or in a directory of
/// `$XDG_DATA_DIRS`. If two manifests have the same id, the one in the earlier directory is used. Invalid manifests are
/// omitted and listed in ``problems``. At most 256 manifests are used.
///
/// The initializer and ``reload()`` read the manifests. While ``run()`` runs, the registry looks for changes every 2 s.
public final class ApplicationRegistry: InstalledApplications, Service {
    private struct State {
        var installed = InstalledManifests()
        /// The programs on the bus that this process represents, by application id.
        var represented: [String: ProgramProcess] = [:]
        var readers = StreamReaders<Void>()
        var programs: [String: ApplicationProgram] = [:]
    }

    /// The program that was last started for an application.
    private struct ApplicationProgram {
        let program: StartedProgram
        /// Whether a manifest names the program (`exec`), rather than a desktop entry.
        let isNamed: Bool
        /// Whether the start had to wait for the end of the previous program, so that less time was left to come up.
        var wasHeldUp: Bool
    }

    /// The directories of manifests, highest precedence first.
    public let directories: [String]

    private let environment: [String: String]
    private let stateDirectory: String?
    private let logger: Logger
    private let state = Mutex(State())

    private static let interval = Duration.seconds(2)
    /// The maximum time to connect to the session bus.
    private static let maxBusTime = Duration.seconds(5)
    /// The time between SIGTERM and SIGKILL for a program that did not come up.
    private static let grace = Duration.seconds(5)

    /// Creates a registry and reads the manifests, which blocks for the time of file access.
    ///
    /// - Parameters:
    ///   - environment: The environment that names the XDG directories. Started applications receive some of its
    ///     variables. Defaults to the environment of this process.
    ///   - stateDirectory: The host's state directory, which started applications use, so that they act as the same
    ///     system. Defaults to `nil`: the user's own state directory.
    ///   - logger: The logger for problems and warnings of manifests. Defaults to a logger with the label
    ///     `RemoteSystems`.
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

    /// The directories of manifests, in the order of the XDG Base Directory Specification.
    package static func directories(_ environment: [String: String]) -> [String] {
        Self.dataDirectories(environment).map { $0 + "/remote-systems/applications" }
    }

    /// The directories of data files, the user's first, in the order of the XDG Base Directory Specification.
    static func dataDirectories(_ environment: [String: String]) -> [String] {
        func absolute(_ name: String) -> [String] {
            (environment[name] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        }
        let home = absolute("XDG_DATA_HOME").first ?? absolute("HOME").first.map { $0 + "/.local/share" }
        var shared = absolute("XDG_DATA_DIRS")
        if shared.isEmpty { shared = ["/usr/local/share", "/usr/share"] }
        return (home.map { [$0] } ?? []) + shared
    }

    /// The problems found when the manifests were last read, each with file and, if known, line. A manifest with a
    /// problem is omitted.
    public var problems: [ConfigurationFileError] { self.state.withLock { $0.installed.problems } }

    /// The keys of manifests that this version does not know, each with file and line. The keys are ignored; the
    /// applications are used.
    public var warnings: [ConfigurationFileError] { self.state.withLock { $0.installed }.warnings }

    /// The programs and desktop entries of manifests that cannot be started now: they are missing or may not be run.
    ///
    /// The applications are listed nevertheless, because the programs may be installed later.
    package func startProblems() async -> [ConfigurationFileError] {
        let installed = self.state.withLock { $0.installed }
        var problems: [ConfigurationFileError] = []
        for (id, path) in installed.files.sorted(by: { $0.value < $1.value }) {
            guard let manifest = installed.manifests[id],
                let file = try? ConfigurationFile(path: path, limit: ApplicationManifest.largestFile)
            else { continue }
            if let (key, text) = await Self.problem(with: manifest.start) {
                problems.append(file.error(at: ["start", key], text))
            }
            if let program = manifest.serviceExtension?.first, let text = ProgramFile.problem(with: program) {
                problems.append(
                    file.error(
                        at: ["notificationServiceExtension", "exec"],
                        "'notificationServiceExtension.exec' cannot be run: \(text)"
                    )
                )
            }
            for (index, content) in manifest.contentExtensions.enumerated() {
                guard let text = ProgramFile.problem(with: content.exec[0]) else { continue }
                problems.append(
                    file.error(
                        at: ["notificationContentExtensions", "\(index)", "exec"],
                        "'notificationContentExtensions[\(index)].exec' cannot be run: \(text)"
                    )
                )
            }
        }
        return problems
    }

    private static func problem(with start: ApplicationStart) async -> (key: String, text: String)? {
        switch start {
        case .exec(let arguments):
            ProgramFile.problem(with: arguments[0]).map { ("exec", "'exec' cannot be run: \($0)") }
        case .desktop(let id):
            await BlockingCalls.run({ DesktopEntries.entry(id: id) }) == nil
                ? ("desktop", "There is no desktop entry \(id), or its program is not installed.") : nil
        case .dbus, .systemd: nil
        }
    }

    // MARK: Publishers

    /// The publishers of the installed applications, without those whose manifests are not signed.
    package var publishers: Set<PublisherID> {
        Set(self.state.withLock { $0.installed.manifests.values.compactMap(\.application.publisher.id) })
    }

    /// The publisher and the programs of an application whose manifest is signed.
    func signedManifest(of id: String) -> (publisher: PublisherID, programs: ManifestPrograms)? {
        guard let manifest = self.state.withLock({ $0.installed.manifests[id] }),
            let publisher = manifest.application.publisher.id
        else { return nil }
        return (publisher, manifest.programs)
    }

    /// Whether a manifest that cannot be used states a publisher.
    var hasDamagedSignature: Bool { self.state.withLock { $0.installed.hasDamagedSignature } }

    func isBadlySigned(_ id: String) -> Bool { self.state.withLock { $0.installed.badlySigned.contains(id) } }

    /// The program on the bus that registers as an application through this process.
    func represented(_ id: String) -> ProgramProcess? { self.state.withLock { $0.represented[id] } }

    /// Notes that this process registers an application for a program on the bus.
    ///
    /// - Returns: `false` if it does so for another program.
    func represent(_ id: String, _ process: ProgramProcess) -> Bool {
        self.state.withLock { state in
            guard state.represented[id] == nil else { return false }
            state.represented[id] = process
            return true
        }
    }

    func endRepresenting(_ id: String) { self.state.withLock { $0.represented[id] = nil } }

    /// The installed applications that claim domains.
    package var claimants: [WebpageResolver.Claimant] {
        self.state.withLock { $0.installed.manifests.values }.compactMap { manifest in
            guard !manifest.associatedDomains.isEmpty else { return nil }
            return WebpageResolver.Claimant(
                application: manifest.application.id,
                entry: manifest.application.publisher.id.flatMap {
                    PublishedApplicationID(publisher: $0, application: manifest.application.id)?.description
                },
                domains: manifest.associatedDomains
            )
        }
    }

    // MARK: Reading

    /// Reads all manifests again, which blocks for the time of file access.
    ///
    /// Streams of ``changes()`` receive an element if a manifest changed.
    public func reload() {
        let installed = InstalledManifests(in: self.directories)
        let (new, ignored) = self.state.withLock { state in
            let (before, known) = (state.installed, state.installed.warnings)
            state.installed = installed
            if before.manifests != installed.manifests || before.badlySigned != installed.badlySigned {
                state.readers.yield(())
            }
            return (
                installed.problems.filter { !before.problems.contains($0) },
                installed.warnings.filter { !known.contains($0) }
            )
        }
        for problem in new {
            self.logger.warning("An application's manifest is omitted", metadata: ["reason": "\(problem)"])
        }
        for warning in ignored {
            self.logger.warning("A key of an application's manifest is ignored", metadata: ["reason": "\(warning)"])
        }
    }

    // MARK: InstalledApplications

    /// Returns the installed applications as last read, in ascending order of their ids.
    public func applications() async -> [InstalledApplication] {
        self.state.withLock { $0.installed.manifests.values.map(\.application) }.sorted { $0.id < $1.id }
    }

    /// Returns a stream with an element for every change of the manifests.
    ///
    /// Several changes may be combined into one element. Each call returns a new stream.
    public func changes() -> AsyncStream<Void> {
        self.state.withLock { $0.readers.add().stream }
    }

    /// Starts an application in the way that its manifest specifies.
    ///
    /// For a program (`exec`, or a desktop entry that names one), the method returns when the program ends with status
    /// 0 or the task is cancelled, so that a failed start is reported at once. Cancellation does not end the program. A
    /// previous program of the application that still runs is awaited first.
    ///
    /// - Parameter id: The application's id.
    /// - Throws: An error whose description is the reason, if the application is not installed, cannot be started, or
    ///   ends with another status than 0.
    public func start(_ id: String) async throws {
        guard let manifest = self.state.withLock({ $0.installed.manifests[id] }) else {
            throw StartFailure("The application is no longer installed.")
        }
        let bus = BusActivation(environment: self.environment)
        switch manifest.start {
        case .dbus(let name): try await bus.activate(name)
        case .systemd(let unit): try await bus.startUnit(unit)
        case .exec(let arguments): try await self.run(arguments, in: "/", of: id, isNamed: true)
        case .desktop(let entryID):
            guard let way = try await self.way(toEntry: entryID) else {
                throw StartFailure("There is no desktop entry \(entryID), or its program is not installed.")
            }
            switch way.start {
            case .activate(let busName, let path): try await bus.activateApplication(busName, objectPath: path)
            case .spawn(let arguments): try await self.run(arguments, in: way.directory ?? "/", of: id)
            case .refuse(let refusal): throw StartFailure(refusal.text)
            }
        }
    }

    /// Decides how to start a desktop entry without a URI, and in which directory; `nil` if there is no such entry.
    private func way(toEntry id: String) async throws -> (start: DesktopStart, directory: String?)? {
        let environment = self.programEnvironment
        guard let entry = await BlockingCalls.run({ DesktopEntries.entry(id: id) }) else { return nil }
        let session = await BlockingCalls.run(atMost: Self.maxBusTime) {
            DesktopStart.Session(for: entry, in: environment, $0)
        }
        try Task.checkCancellation()
        guard let session else { throw StartFailure("\(id) is started over the session bus, which does not respond.") }
        return (DesktopStart(entry, uri: nil, session: session), entry.directory)
    }

    /// Runs a program and watches it while the host waits, so that a failure is reported at once.
    private func run(
        _ arguments: [String],
        in directory: String,
        of id: String,
        isNamed: Bool = false
    ) async throws {
        let program = try await self.program(arguments, in: directory, of: id, isNamed: isNamed)
        // A program that daemonises ends with status 0, and its child may still come up.
        guard let end = await program.end(), !end.isSuccess else { return }
        throw StartFailure("\(arguments[0]): \(end) before it could be reached.")
    }

    /// Starts the program of an application.
    ///
    /// If the program was started before and still runs, waits for its end first: it may still come up, which ends the
    /// host's wait, or it is about to end.
    private func program(
        _ arguments: [String],
        in directory: String,
        of id: String,
        isNamed: Bool
    ) async throws -> StartedProgram {
        var program = DetachedProgram(arguments, environment: self.programEnvironment, directory: directory)
        program.keepsOutput = self.environment["JOURNAL_STREAM"] != nil
        var wasHeldUp = false
        while true {
            do {
                // Under the lock, so that of several starts at the same time only one runs the program.
                let (started, isNew) = try self.state.withLock { [program] state in
                    if let last = state.programs[id]?.program, last.ended == nil { return (last, false) }
                    let started = try program.start()
                    state.programs[id] = ApplicationProgram(program: started, isNamed: isNamed, wasHeldUp: wasHeldUp)
                    return (started, true)
                }
                if isNew { return started }
                _ = await started.end()
            } catch {
                throw StartFailure("\(arguments[0]) cannot be run: \(error).")
            }
            try Task.checkCancellation()
            wasHeldUp = true
        }
    }

    /// Terminates the started program of an application that did not come up.
    ///
    /// Does not wait for the program's end; the next start does. Only programs that a manifest names with `exec` are
    /// terminated: a program of a desktop entry may have a window with unsaved work, and D-Bus and systemd manage their
    /// own programs. A program that had to wait for the end of its predecessor had less time to come up. It is
    /// terminated only when this method is called for it a second time.
    ///
    /// - Parameter id: The application's id.
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
                "A program that did not come up has ended",
                metadata: metadata.merging(["how": "\(end?.description ?? "")"]) { $1 }
            )
        }
    }

    /// The service extension of an application, by its program and arguments; `nil` if it has none.
    func serviceExtension(of id: String) -> [String]? {
        self.state.withLock { $0.installed.manifests[id]?.serviceExtension }
    }

    /// The content extension of an application for a category; `nil` if it has none.
    func contentExtension(of id: String, _ category: String) -> ContentExtensionEntry? {
        self.state.withLock { $0.installed.manifests[id]?.contentExtensions }?.first {
            $0.categories.contains(category)
        }
    }

    /// The directory with the sounds of an application's notifications; `nil` if it has none.
    func soundDirectory(of id: String) -> String? { self.state.withLock { $0.installed.manifests[id]?.soundDirectory } }

    var programEnvironment: [String: String] {
        ApplicationEnvironment.passedOn(from: self.environment, stateDirectory: self.stateDirectory)
    }

    // MARK: Service

    /// Watches the directories, every 2 s, until the task is cancelled or a graceful shutdown begins.
    ///
    /// Never throws, although the protocol allows it.
    public func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: Self.interval)
                let stamp = InstalledManifests.stamp(of: self.directories)
                if self.state.withLock({ $0.installed.stamp != stamp }) { self.reload() }
            }
        }
    }
}
