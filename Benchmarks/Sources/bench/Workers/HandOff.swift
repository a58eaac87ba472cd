// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Measuring

/// A process of one system that hands activities over, or continues them.
struct HandOff: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a system that hands activities over. Started by the driver.",
        shouldDisplay: false
    )

    func run() throws {
        let setup = try WorkerConversation.setup()
        let systems = PackedSystems(directory: setup.directory)
        var system: HandOffSystem?
        try WorkerConversation.response(Response())
        try WorkerConversation.run { order in
            switch (order, system) {
            case (.startHandOff(let number, let folder), nil):
                let folder = "\(setup.directory)/\(folder)"
                system = try blocking { try await HandOffSystem(number, of: systems, setup.directory, folder: folder) }
                return Response()
            case (.watchOffers, let system?):
                try blocking { try await system.watch() }
                return Response()
            case (.offerActivity(let megabytes, let form), let system?):
                let (id, time) = try blocking { try await system.offer(megabytes: megabytes, form) }
                return Response(number: time, address: id.uuidString)
            case (.awaitOffer(let text, let seconds), let system?):
                guard let id = UUID(uuidString: text) else { break }
                return Response(number: try blocking { try await system.listed(id, within: seconds) })
            case (.continueActivity(let text), let system?):
                guard let id = UUID(uuidString: text) else { break }
                return Response(measurement: try blocking { try await system.continue(id) })
            default:
                break
            }
            throw BenchError("A process of hand-off does not support the order \(order) now.")
        }
    }
}
