// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing
import ValueSets

@testable import UserActivities

/// The lists of `Docs/wire-vectors.json` about hand-off.
@Suite struct ActivityWireVectorTests {
    @Test(arguments: try WireVectors.list("activity-descriptors"))
    func `a descriptor is read, or ignored, as its vector states`(vector: WireVectors.Vector) throws {
        let record = try ValueSet(encoded: try vector.bytes)
        let descriptor = ActivityDescriptor(key: try vector.required("key", \.string), record)
        guard vector.isValid else {
            #expect(descriptor == nil)
            return
        }
        let (read, json) = (try #require(descriptor), try vector.required("json", \.object))
        #expect(read.type == json["type"]?.string)
        #expect(read.lifetime == .seconds(try #require(json["lifetime"]?.unsigned)))
        #expect(read.supportsContinuationStreams == json["streams"]?.bool)
        #expect(read.hasWebpage == json["webpage"]?.bool)
        #expect(read.title == json["title"]?.string)
        #expect(read.payloadVersion.map { UInt64($0) } == json["version"]?.unsigned)
        #expect(read.targetContentIdentifier == json["target"]?.string)
    }

    @Test(arguments: try WireVectors.list("activity-payloads"))
    func `a payload is read, or refused, as its vector states`(vector: WireVectors.Vector) throws {
        let message = try ValueSet(encoded: try vector.bytes)
        let offered = try vector.required("offered", \.string)
        guard vector.isValid else {
            #expect(throws: ContinuationError.self) { try ActivityPayload(message, offeredAs: offered) }
            return
        }
        let (payload, json) = (
            try ActivityPayload(message, offeredAs: offered), try vector.required("json", \.object)
        )
        let content = json["userInfo"]?["Caret"]?.unsigned.map { ["Caret": .integer(Int64($0))] as ValueSet } ?? [:]
        #expect(payload.userInfo == content)
        #expect(payload.isStale == json["stale"]?.bool)
        #expect(payload.attributes.title == json["title"]?.string)
        #expect(payload.attributes.webpageURL?.absoluteString == json["webpage"]?.string)
    }

    @Test(arguments: try WireVectors.list("document-urls"))
    func `a URL of a document leads into its folder, or is refused, as its vector states`(
        vector: WireVectors.Vector
    ) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "folder-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let mapper = try DocumentURLMapper(roots: ["notes": folder])
        let url = try #require(URL(string: try vector.required("text", \.string)))
        guard vector.isValid else {
            #expect(throws: (any Error).self) { try mapper.local(url) }
            return
        }
        let path = try vector.required("json") { $0["path"]?.string }
        let local = try mapper.local(url)
        #expect(local.path(percentEncoded: false).hasSuffix("/\(folder.lastPathComponent)/\(path)"))
        #expect(try mapper.portable(local).absoluteString == url.absoluteString)
    }
}
