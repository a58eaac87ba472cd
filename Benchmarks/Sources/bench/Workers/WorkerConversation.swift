// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// A worker's side of its conversation with the driver.
///
/// Ends with the standard input, so that a worker whose driver has gone ends too.
enum WorkerConversation {
    static func setup() throws -> Setup {
        guard let line = readLine() else { throw BenchError("A worker is started by the driver, which tells it more.") }
        return try JSONDecoder().decode(Setup.self, from: Data(line.utf8))
    }

    static func response(_ response: Response) throws {
        print(String(decoding: try JSONEncoder().encode(response), as: UTF8.self))
        _ = fflush(nil)
    }

    /// Carries out orders until there are no more; one that fails is reported and does not end the worker.
    static func run(_ perform: (Order) throws -> Response) throws {
        while let line = readLine() {
            let order = try JSONDecoder().decode(Order.self, from: Data(line.utf8))
            do {
                try response(perform(order))
            } catch {
                try response(Response(failure: "\(error)"))
            }
        }
    }

    /// Lets the process have as many descriptors as it may: a thousand connections are more than the usual 1 024.
    static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
