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
        WorkerConversation.raiseDescriptorLimit()
        let setup = try WorkerConversation.setup()
        let systems = PackedSystems(directory: setup.directory)
        var system: HandOffSystem?
        var crowd: OfferingCrowd?
        try WorkerConversation.response(Response())
        try WorkerConversation.run { order in
            switch (order, system) {
            case (.startCrowd(let numbers, let applications, let folder), nil):
                let folder = "\(setup.directory)/\(folder)"
                crowd = try blocking {
                    try await OfferingCrowd(numbers, applications: applications, of: systems, folder: folder)
                }
                return Response()
            case (.offerActivity, nil):
                guard let crowd else { break }
                let (id, time) = try blocking { try await crowd.offer() }
                return Response(number: time, address: id.uuidString)
            case (.awaitOffers(let count, let seconds), let system?):
                return Response(number: try blocking { try await system.listed(count: count, within: seconds) })
            case (.listOffers, let system?):
                return Response(number: system.list())
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
