// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The service's name, as both programs use it.
package let orderService = "org.example.orders"

/// What the client sends. The service publishes what it looks like, for those who do not have this type: other
/// programs, and other languages.
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

/// What the server answers.
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
