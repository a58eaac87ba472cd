// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Dispatch
import FoundationEssentials
import Glibc
import Measuring

extension ContestantName: ExpressibleByArgument {}

/// The parts of a run.
enum Part: String, CaseIterable {
    case exchange, opening, memory, allocations, coding, discovery, scale, mesh, attacks
    case handOff = "hand-off"
}

/// The driver: starts the workers, sends them orders in turns, and prints the report.
struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the benchmarks (the default).",
        discussion: """
            Parts: \(Part.allCases.map(\.rawValue).joined(separator: ", ")).
            Contestants: \(ContestantName.ofAllParts.map(\.rawValue).joined(separator: ", ")).
            """
    )

    @Flag(help: "Run fewer and shorter rounds, as a functional check.")
    var quick = false

    @Option(help: "Run only these parts and contestants, separated by commas.")
    var only = ""

    @Option(help: "The number of interleaved rounds. Defaults to 7, or 2 with --quick. Range: 1 to 1000.")
    var rounds: Int?

    @Option(help: "The number of idle connections. Defaults to 1000, or 100 with --quick. Range: 1 to 15000.")
    var connections: Int?

    @Flag(help: "Let idle cores sleep, as in normal use.")
    var letCoresSleep = false

    @Flag(help: "Fail if a goal that was measured is not met.")
    var check = false

    @Option(help: ArgumentHelp("Also write every figure to this file.", valueName: "file"))
    var json: String?

    func validate() throws {
        if let rounds, !(1...1000).contains(rounds) {
            throw ValidationError("--rounds takes 1 to 1000, not \(rounds).")
        }
        if let connections, !(1...15_000).contains(connections) {
            throw ValidationError("--connections takes 1 to 15000, not \(connections).")
        }
        _ = try selection()
        // Checked before the run, which takes minutes.
        if let json, unsafe access(URL(filePath: json).deletingLastPathComponent().path(), W_OK) != 0 {
            throw ValidationError("\(json) cannot be written: its directory is missing or not writable.")
        }
    }

    private func selection() throws -> (parts: Set<Part>, contestants: Set<ContestantName>) {
        var parts: Set<Part> = []
        var contestants: Set<ContestantName> = []
        for word in only.split(separator: ",") {
            let word = word.drop { $0 == " " }
            if let part = Part(rawValue: String(word)) {
                parts.insert(part)
            } else if let name = ContestantName.ofAllParts.first(where: { $0.rawValue == word }) {
                contestants.insert(name)
            } else {
                throw ValidationError("'\(word)' is neither a part nor a contestant. See --help.")
            }
        }
        return (
            parts.isEmpty ? Set(Part.allCases) : parts,
            contestants.isEmpty ? Set(ContestantName.ofAllParts) : contestants
        )
    }

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        let selection = try selection()
        let directory = try PrivateDirectory()
        let interruption = directory.removeOnInterruption()
        defer {
            interruption.cancel()
            directory.remove()
        }
        let awake = letCoresSleep ? nil : try Worker(["keep-awake"], setup: nil)
        defer { awake?.stop() }
        let plan = Plan(
            rounds: rounds ?? (quick ? 2 : 7),
            quick: quick,
            heldConnections: connections ?? (quick ? 100 : 1000),
            parts: selection.parts,
            contestants: ContestantName.ofAllParts.filter(selection.contestants.contains),
            directory: directory.path,
            keepsCoresAwake: !letCoresSleep
        )
        let report = try Driver(plan).run()
        print(report.text, terminator: "")
        if let json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            do {
                try encoder.encode(report).write(to: URL(filePath: json), options: .atomic)
            } catch {
                throw BenchError("The figures cannot be written to \(json): \(error)")
            }
        }
        let isMissed = check && report.goals.contains { $0.verdict == .notMet }
        if isMissed || !report.failures.isEmpty { throw ExitCode.failure }
    }
}

/// A directory that only this user can read. It is removed after the run.
private struct PrivateDirectory {
    let path: String

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "remote-systems-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        path = folder.path()
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Removes the directory and exits on SIGINT. The children end with this process.
    func removeOnInterruption() -> any DispatchSourceSignal {
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler {
            remove()
            exit(130)
        }
        source.resume()
        return source
    }
}
