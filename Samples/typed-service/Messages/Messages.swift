// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems

/// The service's name, as both programs use it.
package let orderService = "org.example.orders"

/// What the client sends.
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

// The schemas say the same to those who do not have these types: other programs, and other languages. The server
// publishes them, and both sides check every message against them.
extension AllowedValueSchema {
    package static let order = AllowedValueSchema(fields: [
        .required("dish", .string),
        .required("portions", .integer),
        .optional("notes", .array(of: .string)),
        .required("wanted", .date),
    ])

    package static let receipt = AllowedValueSchema(fields: [
        .required("number", .uuid),
        .required("summary", .string),
        .required("ready", .date),
    ])
}
