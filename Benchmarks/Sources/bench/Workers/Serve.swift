// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Measuring

/// The process of a server.
struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a server. Started by the driver.",
        shouldDisplay: false
    )

    @Argument var name: ContestantName

    func run() throws {
        let contestant = contestant(name)
        WorkerConversation.raiseDescriptorLimit()
        let setup = try WorkerConversation.setup()
        let server = try contestant.serve(setup)
        try WorkerConversation.response(Response(address: server.address, companions: server.companions))
        var host: (any Stoppable)?
        try WorkerConversation.run { order in
            switch order {
            case .startHost:
                guard let contestant = contestant as? any DiscoveringContestant else { break }
                let start = monotonicNanoseconds()
                host = try blocking { try await contestant.startHost(setup) }
                return Response(number: start)
            case .stopHost:
                if let running = host { try blocking { try await running.stop() } }
                host = nil
                return Response()
            default:
                break
            }
            throw BenchError("A server of \(name) does not support the order \(order).")
        }
    }
}
