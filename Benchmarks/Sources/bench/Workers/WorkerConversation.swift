// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// The worker's side of the communication with the driver.
///
/// It ends with the standard input, so that a worker ends with its driver.
enum WorkerConversation {
    static func setup() throws -> Setup {
        guard let line = readLine() else { throw BenchError("A worker needs its parameters on standard input.") }
        return try JSONDecoder().decode(Setup.self, from: Data(line.utf8))
    }

    static func response(_ response: Response) throws {
        print(String(decoding: try JSONEncoder().encode(response), as: UTF8.self))
        _ = fflush(nil)
    }

    /// Carries out orders until the input ends. A failed order is reported and does not end the worker.
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

    /// Raises the file-descriptor limit to its maximum: 1 000 connections need more than the usual limit of 1 024.
    static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
