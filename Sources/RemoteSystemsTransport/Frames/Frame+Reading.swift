// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
internal import ValueSets

extension Frame {
    /// Reads a frame, without its length field.
    ///
    /// Elements beyond those that this version knows are ignored, so that a newer minor version can add some.
    package init(_ bytes: ByteBuffer) throws(TransportError) {
        // The code to report if reading fails. Only the maps of the hello and the accept have a code of their own.
        var code = FailureCode.frameMalformed
        do throws(ValueSetError) {
            self = try CBORReader.read(bytes) { reader throws(ValueSetError) in
                var elements = try reader.readArrayHead()
                let frame = try Frame(from: &reader, &elements, &code)
                // The end of a malformed message is unknown, so the rest of its frame is not checked.
                if case .malformed = frame { return frame }
                for _ in 0..<elements { try reader.skipItem() }
                try reader.finish()
                return frame
            }
        } catch {
            throw .violation("a frame cannot be read: \(error)", code)
        }
    }

    private init(
        from reader: inout CBORReader,
        _ elements: inout Int,
        _ code: inout FailureCode
    ) throws(ValueSetError) {
        func element() throws(ValueSetError) {
            guard elements > 0 else { throw ValueSetError(.missingKey, "an element of the frame is missing") }
            elements -= 1
        }
        func unsigned(_ reader: inout CBORReader) throws(ValueSetError) -> UInt64 {
            try element()
            return try reader.readUnsigned()
        }
        func failure(_ reader: inout CBORReader) throws(ValueSetError) -> WireFailure? {
            guard elements > 0 else { return nil }
            try element()
            return WireFailure(try reader.readValueSet())
        }
        func key(_ reader: inout CBORReader) throws(ValueSetError) -> [UInt8]? {
            guard elements > 0 else { return nil }
            try element()
            switch try reader.readValue() {
            case .null: return nil
            case .data(let key) where (1...Self.maxKeyBytes).contains(key.count): return Array(key)
            case let other:
                throw ValueSetError(
                    .typeMismatch,
                    "A request's key is malformed.",
                    found: other.type.rawValue,
                    allowed: "data of 1 to \(Self.maxKeyBytes) bytes, or null"
                )
            }
        }
        func metadata(_ reader: inout CBORReader) throws(ValueSetError) -> ValueSet {
            guard elements > 0 else { return ValueSet() }
            try element()
            switch try reader.readValue() {
            case .null:
                return ValueSet()
            case .dictionary(let metadata):
                try MetadataRules.check(metadata)
                return metadata
            case let other:
                throw ValueSetError(
                    .typeMismatch,
                    "A request's metadata is malformed.",
                    found: other.type.rawValue,
                    allowed: "a dictionary of strings, or null"
                )
            }
        }
        func data(_ reader: inout CBORReader) throws(ValueSetError) -> ByteBuffer {
            try element()
            switch try reader.readValue() {
            case .data(let bytes) where (1...Self.maxDataBytes).contains(bytes.count):
                return ByteBuffer(bytes: bytes)
            case let other:
                throw ValueSetError(
                    .typeMismatch,
                    "A stream's bytes are malformed.",
                    found: other.type.rawValue,
                    allowed: "data of 1 to \(Self.maxDataBytes) bytes"
                )
            }
        }
        let kind = try unsigned(&reader)
        switch Kind(rawValue: kind) {
        case .request:
            let id = try unsigned(&reader)
            let timeout = try unsigned(&reader)
            try element()
            do {
                let message = try reader.readValueSet()
                let key = try key(&reader)
                let metadata = try metadata(&reader)
                self = .request(id: id, timeoutMilliseconds: timeout, message: message, key: key, metadata: metadata)
            } catch {
                self = .malformed(.request, id: id, error)
            }
        case .response:
            let id = try unsigned(&reader)
            let status = ResponseStatus(rawValue: try unsigned(&reader))
            try element()
            do {
                let message = try reader.readValueSet()
                self = .response(id: id, status: status, message: message, failure: try failure(&reader))
            } catch {
                self = .malformed(.response, id: id, error)
            }
        case .cancel:
            self = .cancel(id: try unsigned(&reader))
        case .ping:
            self = .ping(token: try unsigned(&reader))
        case .pong:
            self = .pong(token: try unsigned(&reader))
        case .close:
            let status = CloseStatus(rawValue: try unsigned(&reader))
            self = .close(status, try failure(&reader))
        case .data:
            self = .data(try data(&reader))
        case .fin:
            self = .fin
        case .abort:
            try element()
            self = .abort(WireFailure(try reader.readValueSet()))
        case .state:
            let operation = StateMessage.Operation(rawValue: try unsigned(&reader))
            try element()
            let body = try reader.readValueSet()
            self =
                try operation.map { operation throws(ValueSetError) in .state(try StateMessage(operation, body)) }
                ?? .unknown(kind: kind)
        case .hello:
            try element()
            let map = try reader.readValueSet()
            code = .helloMalformed
            self = .hello(try Hello(map))
            code = .frameMalformed
        case .accept:
            try element()
            let map = try reader.readValueSet()
            code = .helloMalformed
            self = .accept(try Acceptance(map))
            code = .frameMalformed
        case .refuse:
            let status = OpenStatus(rawValue: try unsigned(&reader))
            self = .refuse(status, try failure(&reader) ?? WireFailure(""))
        case nil:
            self = .unknown(kind: kind)
        }
    }
}
