// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Measuring

/// The process in which all coders take turns.
struct Code: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the coders. Started by the driver.",
        shouldDisplay: false
    )

    func run() throws {
        try WorkerConversation.run { order in
            switch order {
            case .code(let name, let task, let limit):
                return Response(measurement: try dictionaryCoder(name).measure(task, until: limit))
            case .size(let name, let dictionary):
                return Response(number: Int64(try dictionaryCoder(name).size(dictionary)))
            default:
                throw BenchError("The coders do not support the order \(order).")
            }
        }
    }
}
