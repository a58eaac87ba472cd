// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring

/// One way of turning a dictionary into bytes and back.
protocol DictionaryCoder {
    /// What is encoded, and what decoding gives.
    associatedtype Content

    static func content(_ dictionary: CodingTask.Dictionary) -> Content
    func encode(_ content: Content) throws -> Encoded
    func decode(_ encoded: Encoded) throws -> Content

    /// Bytes in the type that the coder itself makes and takes.
    associatedtype Encoded: Collection<UInt8>
}

extension DictionaryCoder {
    func size(_ dictionary: CodingTask.Dictionary) throws -> Int {
        try encode(Self.content(dictionary)).count
    }

    /// Codes again and again; each time is a mean over a few codings, so that the clock's own cost stays small.
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
        // The rate is one of codings, not of batches.
        return Measurement(nanoseconds: times, elapsedNanoseconds: (start - begin) / Int64(batch))
    }
}

/// Uses a value in a way that the optimiser cannot see through.
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
