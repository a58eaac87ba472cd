// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Measuring
import SwiftProtobuf

/// The dictionary of any content of Protocol Buffers (`Struct`), in binary form.
struct ProtobufStructCoder: DictionaryCoder {
    static func content(_ dictionary: CodingTask.Dictionary) -> Google_Protobuf_Struct {
        switch dictionary {
        case .typical:
            Track(7).protobufStruct
        case .large:
            Google_Protobuf_Struct(
                fields: Track.large.mapValues { Google_Protobuf_Value(structValue: $0.protobufStruct) }
            )
        }
    }

    func encode(_ content: Google_Protobuf_Struct) throws -> [UInt8] {
        try content.serializedBytes()
    }

    func decode(_ encoded: [UInt8]) throws -> Google_Protobuf_Struct {
        try Google_Protobuf_Struct(serializedBytes: encoded)
    }
}

extension Track {
    fileprivate var protobufStruct: Google_Protobuf_Struct {
        let list = Google_Protobuf_ListValue(values: tags.map { Google_Protobuf_Value(stringValue: $0) })
        let position = Google_Protobuf_Struct(fields: [
            "Track": Google_Protobuf_Value(numberValue: Double(position.track)),
            "Seconds": Google_Protobuf_Value(numberValue: position.seconds),
        ])
        return Google_Protobuf_Struct(fields: [
            "Type": Google_Protobuf_Value(stringValue: type),
            "Title": Google_Protobuf_Value(stringValue: title),
            "Artist": Google_Protobuf_Value(stringValue: artist),
            "TargetId": Google_Protobuf_Value(stringValue: targetID.uuidString),
            "CreationDate": Google_Protobuf_Value(numberValue: creationDate.timeIntervalSince1970),
            "Sequence": Google_Protobuf_Value(numberValue: Double(sequence)),
            "Volume": Google_Protobuf_Value(numberValue: volume),
            "IsMuted": Google_Protobuf_Value(boolValue: isMuted),
            "Tags": Google_Protobuf_Value(listValue: list),
            "Position": Google_Protobuf_Value(structValue: position),
        ])
    }
}
