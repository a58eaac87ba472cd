// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Measuring

/// A process of many systems.
struct Pack: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run many systems. Started by the driver.",
        shouldDisplay: false
    )

    func run() throws {
        WorkerConversation.raiseDescriptorLimit()
        let setup = try WorkerConversation.setup()
        let systems = PackedSystems(directory: setup.directory)
        try WorkerConversation.response(Response())
        try WorkerConversation.run { order in
            switch order {
            case .createSystems(let numbers):
                try blocking { try await systems.create(numbers) }
                return Response()
            case .revokeSystem(let number):
                try systems.revoke(number)
                return Response()
            case .startHosts(let numbers, let folder):
                try blocking { try await systems.startHosts(numbers, folder: "\(setup.directory)/\(folder)") }
                return Response()
            case .startWatchers(let numbers, let folder):
                let start = monotonicNanoseconds()
                try blocking { try await systems.startWatchers(numbers, folder: "\(setup.directory)/\(folder)") }
                return Response(number: start)
            case .awaitListed(let count, let seconds):
                return Response(number: try blocking { try await systems.listed(count, within: seconds) })
            case .countWatched:
                return Response(watched: systems.counts)
            case .stopWatcher:
                try blocking { await systems.stopWatchers() }
                return Response()
            default:
                throw BenchError("A process of many systems does not support the order \(order).")
            }
        }
    }
}
