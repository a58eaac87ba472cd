// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Measuring
import ValueSets

/// The project's typed dictionary in its wire encoding.
struct ValueSetCoder: DictionaryCoder {
    static func content(_ dictionary: CodingTask.Dictionary) -> ValueSet {
        switch dictionary {
        case .typical: Track(7).valueSet
        case .large: ValueSet(Track.large.mapValues { .dictionary($0.valueSet) })
        }
    }

    func encode(_ content: ValueSet) throws -> [UInt8] {
        try content.encoded()
    }

    func decode(_ encoded: [UInt8]) throws -> ValueSet {
        try ValueSet(encoded: encoded)
    }
}

extension Track {
    fileprivate var valueSet: ValueSet {
        [
            "Type": .string(type),
            "Title": .string(title),
            "Artist": .string(artist),
            "TargetId": .uuid(targetID),
            "CreationDate": .date(creationDate),
            "Sequence": .integer(Int64(sequence)),
            "Volume": .double(volume),
            "IsMuted": .bool(isMuted),
            "Tags": .array(tags.map(Value.string)),
            "Position": ["Track": .integer(Int64(position.track)), "Seconds": .double(position.seconds)],
        ]
    }
}
