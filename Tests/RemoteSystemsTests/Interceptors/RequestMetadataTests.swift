// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystems

@Suite struct RequestMetadataTests {
    @Test func `keys are case-insensitive and sent in lower case`() {
        var metadata: RequestMetadata = ["X-Request-ID": "1", "b": "2", "x-request-id": "3"]
        #expect(metadata["x-request-id"] == "3")
        #expect(metadata["X-REQUEST-ID"] == "3")
        #expect(metadata.count == 2)
        #expect(metadata.map(\.key) == ["b", "x-request-id"])
        #expect(metadata == ["x-request-id": "3", "B": "2"])
        metadata["B"] = nil
        #expect(metadata.map(\.value) == ["3"])
        metadata["X-Request-Id"] = nil
        #expect(metadata.isEmpty && metadata == RequestMetadata())
    }

    @Test func `descriptions of metadata contain no values`() {
        let metadata: RequestMetadata = ["authorization": "s3cret", "a": "s3cret"]
        #expect("\(metadata)" == "[a, authorization]")
        #expect(!"\(metadata)\(String(reflecting: metadata))".contains("s3cret"))
        var dumped = ""
        dump(metadata, to: &dumped)
        #expect(!dumped.contains("s3cret"))
    }

    @Test(
        arguments: [
            ["": "a"], ["a b": "c"], ["a": "b\n"], ["a": "\u{0}"], ["a:b": "c"], ["ä": "b"], ["a": "\u{200B}"],
            ["a": .init(repeating: "b", count: 8192)], [.init(repeating: "a", count: 65): "b"],
        ] as [RequestMetadata]
    )
    func `invalid metadata is refused before sending, with the rule`(metadata: RequestMetadata) {
        let error = #expect(throws: RemoteSystemError.self) { try metadata.check() }
        #expect(error?.code == .invalidMessage)
        #expect(error?.side == .local)
        #expect(error?.message.contains("metadata") == true && error?.message.contains("Allowed") == true)
    }

    @Test func `64 keys and 8192 bytes are allowed, and no more`() throws {
        var metadata = RequestMetadata()
        for index in 0..<64 { metadata["key-\(10 + index)"] = String(repeating: "v", count: 128 - 6) }
        try metadata.check()
        metadata["key-10"]? += "v"
        #expect(throws: RemoteSystemError.self) { try metadata.check() }
        metadata["key-10"] = ""
        metadata["another"] = ""
        #expect(throws: RemoteSystemError.self) { try metadata.check() }
    }

    @Test func `a tracer's values are left out if they are invalid or do not fit`() throws {
        var metadata: RequestMetadata = ["a": .init(repeating: "b", count: 8000)]
        let injector = MetadataInjector()
        injector.inject("c", forKey: "Trace State", into: &metadata)
        injector.inject("c\n", forKey: "tracestate", into: &metadata)
        injector.inject(.init(repeating: "c", count: 1 << 20), forKey: "tracestate", into: &metadata)
        injector.inject(.init(repeating: "c", count: 185), forKey: "tracestate", into: &metadata)
        #expect(metadata.count == 1)
        injector.inject("00-1", forKey: "TraceParent", into: &metadata)
        injector.inject("00-2", forKey: "traceparent", into: &metadata)
        #expect(metadata["traceparent"] == "00-2")
        try metadata.check()
    }

    @Test func `a tracer gets only traces of ordinary size`() {
        let extractor = MetadataExtractor()
        let metadata: RequestMetadata = [
            "traceparent": .init(repeating: "0", count: 129), "tracestate": .init(repeating: "0", count: 513),
            "baggage": .init(repeating: "0", count: 4000),
        ]
        #expect(extractor.extract(key: "TraceParent", from: metadata) == nil)
        #expect(extractor.extract(key: "tracestate", from: metadata) == nil)
        #expect(extractor.extract(key: "Baggage", from: metadata)?.count == 4000)
        #expect(extractor.extract(key: "none", from: metadata) == nil)
        let usual: RequestMetadata = ["traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]
        #expect(extractor.extract(key: "traceparent", from: usual) == usual["traceparent"])
    }
}
