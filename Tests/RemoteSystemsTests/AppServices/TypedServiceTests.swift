// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing

/// Services and callers that use types of their own on both ends (R-36; issue 8, section 3).
@Suite struct TypedServiceTests {
    struct Order: Codable, Equatable {
        var dish: String
        var portions: Int
        var notes: [String]?
        var picture: Data?
    }

    struct Receipt: Codable, Equatable {
        var number: Int
        var seal: Data
    }

    static let orders = AppService("test.orders") { (order: Order, request) -> Receipt in
        Receipt(number: order.portions, seal: Data(request.caller.claimedApplicationID.utf8))
    }

    static let slowOrders = AppService("test.orders") { (order: Order, request) async throws -> Receipt in
        await Task.yield()
        guard order.portions < 10 else { throw AppServiceFailure("Too many.") }
        return Receipt(number: order.portions, seal: Data(request.caller.claimedApplicationID.utf8))
    }

    @Test(arguments: [TypedServiceTests.orders, TypedServiceTests.slowOrders])
    func `typed messages, including data, travel in both directions without a declared schema`(service: AppService)
        async throws
    {
        try await DiscoveryStage.withConnectedPair(service) { pair in
            let order = Order(dish: "soup", portions: 2, picture: Data([1, 2]))
            let receipt = try await pair.client.send(order, as: Receipt.self)
            #expect(receipt == Receipt(number: 2, seal: Data("test.application".utf8)))
            let raw = try await pair.client.send(["dish": "soup", "portions": 3])
            #expect(try raw.message(as: Receipt.self).number == 3)
        }
    }

    @Test func `the derived schemas are published, and a message that breaks them is not sent`() async throws {
        try await DiscoveryStage.withConnectedPair(Self.orders) { pair in
            let wrong = await #expect(throws: RemoteSystemError.self) {
                _ = try await pair.client.send(["dish": "soup", "portions": "two"])
            }
            #expect(wrong?.code == .invalidMessage)
            #expect(wrong?.side == .local)
            #expect(wrong?.message.contains("portions") == true)
            let watcher = pair.stage.watcher()
            try await watcher.start()
            try await pair.stage.settle()
            let service = try #require(watcher.systems.first?.applications.first?.services.first)
            #expect(service.requestSchema == AllowedValueSchema(decoding: Order.self))
            #expect(service.responseSchema == AllowedValueSchema(decoding: Receipt.self))
        }
    }

    @Test func `a message that fits the schema but not the type is reported by its key`() async throws {
        let lax = AppService("test.orders", requestSchema: .full) { (order: Order, _) in order }
        try await DiscoveryStage.withConnectedPair(lax) { pair in
            for (message, place, text) in [
                (["dish": "soup"], "portions", "A key is missing that the type requires."),
                (["dish": 7, "portions": 1], "dish", "Found: integer. Allowed: a string."),
                (["dish": "a", "portions": 1, "notes": ["b", 2]], "notes[1]", "Found: integer. Allowed: a string."),
            ] as [(ValueSet, String, String)] {
                let response = try await pair.client.send(message)
                #expect(response.status == .failure)
                #expect(response.error?.message.contains("expects: \(place): ") == true)
                #expect(response.error?.message.hasSuffix(text) == true, "\(response.error?.message ?? "")")
                #expect(response.error?.side == .remote)
            }
        }
    }

    @Test func `a typed handler's failure reaches the caller verbatim`() async throws {
        try await DiscoveryStage.withConnectedPair(Self.slowOrders) { pair in
            let error = await #expect(throws: RemoteSystemError.self) {
                _ = try await pair.client.send(Order(dish: "soup", portions: 10), as: Receipt.self)
            }
            #expect(error?.message == "Too many.")
        }
    }

    @Test func `a single typed message needs no open connection`() async throws {
        try await DiscoveryStage.with { stage in
            let host = try stage.system("Kitchen", services: [Self.orders])
            try await stage.appears(host)
            let request = try await stage.request(to: host)
            let receipt: Receipt = try await AppServiceConnection.sendStateless(
                Order(dish: "soup", portions: 4),
                to: AppServiceDescription(name: "test.orders"),
                request: request
            )
            #expect(receipt.number == 4)
            let missing = await #expect(throws: RemoteSystemError.self) {
                _ = try await AppServiceConnection.sendStateless(
                    Order(dish: "soup", portions: 4),
                    to: AppServiceDescription(name: "test.none"),
                    request: request,
                    as: Receipt.self
                )
            }
            #expect(missing?.code == .refused)
        }
    }

    @Test func `a request of the service can be typed, too`() async throws {
        let asking = AppService("test.asking") { request in
            let receipt = try await request.connection.send(Order(dish: "soup", portions: 5), as: Receipt.self)
            return ["number": .integer(Int64(receipt.number))]
        }
        var options = asking.options
        options.pushRequestSchema = AllowedValueSchema(decoding: Order.self)
        options.pushResponseSchema = AllowedValueSchema(decoding: Receipt.self)
        var service = asking
        service.options = options
        try await DiscoveryStage.with { stage in
            let host = try stage.system("Kitchen", services: [service])
            try await stage.appears(host)
            let handler = AppServiceConnection.requestHandler { (order: Order, request) -> Receipt in
                #expect(request.message["dish"] == "soup")
                return Receipt(number: order.portions + 1, seal: Data())
            }
            let connection = try await stage.connect(to: host, service: "test.asking", onRequest: handler)
            let number = try await connection.send([:]).get()["number"]
            #expect(number == 6)
            await connection.close()
        }
    }
}
