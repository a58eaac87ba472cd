// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems

// Types of your own on both ends.
// snippet.service
struct Order: Codable {
    var dish: String
    var portions: Int
    var notes: [String]?
}

struct Receipt: Codable {
    var number: Int
}

let orders = AppService("com.example.orders") { (order: Order, request) -> Receipt in
    guard (1...12).contains(order.portions) else {
        throw AppServiceFailure("The kitchen makes 1 to 12 portions at a time.")
    }
    return Receipt(number: 17)
}
// snippet.end

// snippet.caller
func order(from kitchen: RemoteSystemApplication) async throws -> Int {
    try await kitchen.withAppService("com.example.orders") { connection in
        try await connection.send(Order(dish: "soup", portions: 2), as: Receipt.self).number
    }
}
// snippet.end
