// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The service's name, for both programs.
package let orderService = "org.example.orders"

/// The request of the client.
///
/// The service publishes the schema of this type, for programs that do not have the type and for other languages.
package struct Order: Codable, Sendable {
    package var dish: String
    package var portions: Int
    package var notes: [String]?
    package var wanted: Date

    package init(dish: String, portions: Int, notes: [String]? = nil, wanted: Date) {
        self.dish = dish
        self.portions = portions
        self.notes = notes
        self.wanted = wanted
    }
}

/// The response of the service.
package struct Receipt: Codable, Sendable {
    package var number: UUID
    package var summary: String
    package var ready: Date

    package init(number: UUID, summary: String, ready: Date) {
        self.number = number
        self.summary = summary
        self.ready = ready
    }
}
