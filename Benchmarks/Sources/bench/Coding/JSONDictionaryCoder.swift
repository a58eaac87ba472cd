// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Measuring

/// Foundation's JSON coder with a dictionary of any content, like a typed dictionary.
struct JSONDictionaryCoder: DictionaryCoder {
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()

    static func content(_ dictionary: CodingTask.Dictionary) -> [String: JSONValue] {
        switch dictionary {
        case .typical: Track(7).jsonDictionary
        case .large: Track.large.mapValues { .dictionary($0.jsonDictionary) }
        }
    }

    func encode(_ content: [String: JSONValue]) throws -> Data {
        try encoder.encode(content)
    }

    func decode(_ encoded: Data) throws -> [String: JSONValue] {
        try decoder.decode([String: JSONValue].self, from: encoded)
    }
}

/// Any JSON value. Decoding tries one type after the other, the most likely first.
enum JSONValue: Codable, Sendable {
    case string(String)
    case integer(Int)
    case double(Double)
    case bool(Bool)
    case array([JSONValue])
    case dictionary([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let string = try? container.decode(String.self) {
            self = .string(string)
        } else if let integer = try? container.decode(Int.self) {
            self = .integer(integer)
        } else if let double = try? container.decode(Double.self) {
            self = .double(double)
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else if let array = try? container.decode([JSONValue].self) {
            self = .array(array)
        } else {
            self = .dictionary(try container.decode([String: JSONValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let string): try container.encode(string)
        case .integer(let integer): try container.encode(integer)
        case .double(let double): try container.encode(double)
        case .bool(let bool): try container.encode(bool)
        case .array(let array): try container.encode(array)
        case .dictionary(let dictionary): try container.encode(dictionary)
        }
    }
}

extension Track {
    fileprivate var jsonDictionary: [String: JSONValue] {
        [
            "Type": .string(type),
            "Title": .string(title),
            "Artist": .string(artist),
            "TargetId": .string(targetID.uuidString),
            "CreationDate": .double(creationDate.timeIntervalSince1970),
            "Sequence": .integer(sequence),
            "Volume": .double(volume),
            "IsMuted": .bool(isMuted),
            "Tags": .array(tags.map(JSONValue.string)),
            "Position": .dictionary(["Track": .integer(position.track), "Seconds": .double(position.seconds)]),
        ]
    }
}
