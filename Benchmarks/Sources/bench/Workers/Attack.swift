// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Measuring
import Synchronization

/// The process of an attacked system, or of attackers.
struct Attack: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run an attacked system or attackers. Started by the driver.",
        shouldDisplay: false
    )

    func run() throws {
        WorkerConversation.raiseDescriptorLimit()
        let setup = try WorkerConversation.setup()
        try WorkerConversation.response(Response())
        var victim: AttackedSystem?
        var running: (task: Task<Void, Never>, failure: Failure)?
        try WorkerConversation.run { order in
            switch order {
            case .startVictim(let folder):
                let system = try AttackedSystem(directory: setup.directory, folder: folder)
                victim = system
                let ports = try blocking { try await system.start() }
                return Response(number: Int64(ports.host), address: "\(ports.forging)")
            case .awaitSystem(let name, let seconds):
                guard let system = victim else { throw BenchError("No system was started.") }
                return Response(number: try blocking { try await system.added(name, within: seconds) })
            case .dropForged:
                victim?.dropForged()
                return Response()
            case .invite:
                guard let system = victim else { throw BenchError("No system was started.") }
                return Response(number: Int64(try blocking { try await system.invite() }))
            case .endInviting:
                victim?.endInviting()
                return Response()
            case .startAttack(let attack, let contestant, let port):
                let attacker = Attacker(attack, on: contestant, port: port, setup)
                let failure = Failure()
                let task = Task {
                    do { try await attacker.run() } catch is CancellationError {} catch { failure.set("\(error)") }
                }
                running = (task, failure)
                return Response()
            case .stopAttack:
                guard let attack = running else { throw BenchError("No attack was started.") }
                attack.task.cancel()
                running = nil
                if let failure = attack.failure.text { throw BenchError("The attack ended early: \(failure)") }
                return Response()
            default:
                throw BenchError("An attack does not support the order \(order).")
            }
        }
    }

    private final class Failure: Sendable {
        private let state = Mutex<String?>(nil)
        var text: String? { state.withLock { $0 } }
        func set(_ text: String) { state.withLock { $0 = text } }
    }
}
