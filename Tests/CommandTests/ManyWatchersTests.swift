// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import Testing

extension CommandTests {
    @Suite struct ManyWatchers {
        /// Opens and ends presence connections to a host, eight at a time. A busy machine may refuse some of them,
        /// because it has not handled their hellos in time.
        ///
        /// - Returns: The number of connections over which the host has described itself.
        private static func comeAndGo(
            _ count: Int,
            to port: Int,
            _ configuration: RemoteSystemsConfiguration
        ) async -> Int {
            await withTaskGroup(of: Bool.self) { group in
                var described = 0
                for number in 0..<count {
                    if number >= 8, await group.next() == true { described += 1 }
                    group.addTask {
                        let system = try? await RemoteSystem.find(
                            host: "127.0.0.1",
                            port: port,
                            configuration: configuration
                        )
                        return system != nil
                    }
                }
                for await isDescribed in group where isDescribed { described += 1 }
                return described
            }
        }

        private static func files(of process: Int32) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
        }

        @Test func `hundreds of watchers that come and go leave no open file at a host`() async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { serving, port in
                    let number = try #require(Int(port))
                    var configuration = RemoteSystemsConfiguration(
                        applicationID: "test.watcher",
                        network: .loopback,
                        stateDirectory: sandbox.state()
                    )
                    // Handshakes take long in debug builds on busy machines.
                    configuration.transport.helloTimeout = .seconds(10)
                    configuration.transport.connectTimeout = .seconds(10)
                    // The host opens some files when they are first needed, such as those of its threads.
                    _ = await Self.comeAndGo(16, to: number, configuration)
                    let files = try Self.files(of: serving.process.id)
                    let described = await Self.comeAndGo(300, to: number, configuration)
                    #expect(described > 200)
                    let after = try await eventually("the end of the connections", within: .seconds(30)) {
                        let count = try Self.files(of: serving.process.id)
                        return count <= files + 20 ? count : nil
                    }
                    #expect(after <= files + 20)
                }
            }
        }
    }
}
