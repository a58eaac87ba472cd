// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension SystemTests {
    /// Issue 3 §7: networks that have only one of the two Internet protocols.
    @Suite struct AddressFamilies {
        enum Network: String, CaseIterable, Sendable, CustomTestStringConvertible {
            /// Only the addresses that every machine configures itself.
            case linkLocalIPv6
            case IPv6
            case IPv4

            var testDescription: String { rawValue }

            /// Leaves only addresses of this kind, and returns one that other machines may use.
            func prepare(_ machine: Machine, number: Int) async throws -> String? {
                let host = machine.host
                switch self {
                case .linkLocalIPv6:
                    try await host.ip("-4", "address", "flush", "dev", "eth0")
                    return nil
                case .IPv6:
                    try await host.ip("-4", "address", "flush", "dev", "eth0")
                    try await host.ip("address", "add", "fd77::\(number)/64", "dev", "eth0")
                    return "fd77::\(number)"
                case .IPv4:
                    _ = try await host.output(of: ["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"])
                    return machine.address
                }
            }
        }

        static let cases = Network.allCases.flatMap { network in Way.allCases.map { (network, $0) } }

        @Test(arguments: cases)
        func `machines find and call each other with only one protocol`(
            _ family: Network,
            _ way: Way
        ) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let address = try await family.prepare(a, number: 1)
                _ = try await family.prepare(b, number: 2)
                for machine in machines { try await way.prepare(machine.host) }
                let onB = try b.watch()
                let start = Date()
                let serving = try await a.serve()
                let added = try await onB.reported("added", a, within: .seconds(15))
                report("\(family), \(way): start of a serving process to added", [added.seconds(since: start)])
                #expect(try await b.ping("alpha").answered == 3)
                if let address {
                    let target = family == .IPv6 ? "[\(address)]:47474" : address
                    #expect(try await b.ping(target).answered == 3)
                }
                let end = Date()
                await serving.stop()
                #expect(try await onB.reported("removed", a).seconds(since: end) < Removal.byConnection)
            }
        }

        /// The invitation names the addresses by itself.
        @Test(arguments: [Network.IPv6, .IPv4])
        func `a machine joins with only one protocol`(_ family: Network) async throws {
            try await SimulatedNetwork.with { network in
                let a = try await network.addMachine("alpha", state: try await Accounts.shared.stranger())
                let b = try await network.addMachine("beta", state: try await Accounts.shared.stranger())
                let address = try #require(try await family.prepare(a, number: 1))
                _ = try await family.prepare(b, number: 2)
                let inviting = try a.command(["account", "invite"])
                let uri = try #require(try await inviting.reported("invitation").uri)
                #expect(uri.contains(address))
                try await b.join(uri).reported("joined")
                #expect(try await inviting.exit() == 0)
            }
        }
    }
}
