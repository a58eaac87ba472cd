// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring

/// An encoding of dictionaries.
protocol DictionaryCoder {
    /// The type that is encoded and decoded.
    associatedtype Content

    static func content(_ dictionary: CodingTask.Dictionary) -> Content
    func encode(_ content: Content) throws -> Encoded
    func decode(_ encoded: Encoded) throws -> Content

    /// The coder's own type of bytes.
    associatedtype Encoded: Collection<UInt8>
}

extension DictionaryCoder {
    func size(_ dictionary: CodingTask.Dictionary) throws -> Int {
        try encode(Self.content(dictionary)).count
    }

    /// Encodes or decodes repeatedly. Each sample is the mean of several operations, to reduce the cost of the clock.
    func measure(_ task: CodingTask, until limit: Limit) throws -> Measurement {
        let content = Self.content(task.dictionary)
        let encoded = try encode(content)
        let batch = task.dictionary == .typical ? 16 : 1
        return try time(batch: batch, until: limit) {
            switch task.direction {
            case .encode: keep(try encode(content))
            case .decode: keep(try decode(encoded))
            }
        }
    }

    private func time(batch: Int, until limit: Limit, _ body: () throws -> Void) throws -> Measurement {
        var times: [Int64] = []
        times.reserveCapacity(limit.count)
        let begin = monotonicNanoseconds()
        var start = begin
        while times.count < limit.count, start - begin < limit.nanoseconds {
            for _ in 0..<batch { try body() }
            let end = monotonicNanoseconds()
            times.append((end - start) / Int64(batch))
            start = end
        }
        // Divided by the batch size, so that the rate counts operations, not batches.
        return Measurement(nanoseconds: times, elapsedNanoseconds: (start - begin) / Int64(batch))
    }
}

/// Uses a value so that the optimiser cannot remove its computation.
@inline(never)
private func keep<Value>(_ value: Value) {
    withExtendedLifetime(value) {}
}

func dictionaryCoder(_ name: CoderName) -> any DictionaryCoder {
    switch name {
    case .json: JSONDictionaryCoder()
    case .jsonStructure: JSONStructureCoder()
    case .protobuf: ProtobufStructCoder()
    case .ours: ValueSetCoder()
    }
}
