// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A task of a coder: a direction and a dictionary.
package struct CodingTask: Codable, Hashable, Sendable {
    package enum Dictionary: String, Codable, CaseIterable, Sendable {
        /// Ten fields, like a message of an application.
        case typical
        /// A dictionary of 200 typical dictionaries.
        case large
    }

    package enum Direction: String, Codable, CaseIterable, Sendable {
        case encode, decode
    }

    package var dictionary: Dictionary
    package var direction: Direction

    package init(dictionary: Dictionary, direction: Direction) {
        self.dictionary = dictionary
        self.direction = direction
    }

    package static let all: [CodingTask] = Dictionary.allCases.flatMap { dictionary in
        Direction.allCases.map { CodingTask(dictionary: dictionary, direction: $0) }
    }

    package var title: String { "\(direction.rawValue) a \(dictionary.rawValue) dictionary" }
}
