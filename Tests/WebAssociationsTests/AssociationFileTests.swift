// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WebAssociations

/// The form of association files, and the order in which their places are tried.
@Suite struct AssociationFileTests {
    private func read(_ text: String) throws(AssociationFailure) -> Set<String> {
        try AssociationFile(json: Array(text.utf8)).applications
    }

    private func code(_ text: String) -> AssociationFailure.Code? {
        do throws(AssociationFailure) {
            _ = try self.read(text)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `the file lists applications of publishers, and other sections are ignored (H-84, X-11)`() throws {
        let text = """
            {"applinks": {"details": [{"appID": "KEY.com.example.a"}]}, "activitycontinuation":
             {"apps": ["KEY.com.example.b", "KEY.com.example.b", "K-1_x.c"], "more": [1]}}
            """
        #expect(try self.read(text) == ["KEY.com.example.b", "K-1_x.c"])
        #expect(try self.read(#"{"webcredentials": {"apps": ["KEY.com.example.a"]}}"#).isEmpty)
        #expect(try self.read(#"{"activitycontinuation": {"apps": []}}"#).isEmpty)
    }

    @Test(
        arguments: [
            "", "{", "[]", "null", "1", "<html>", #"{"activitycontinuation": []}"#, #"{"activitycontinuation": {}}"#,
            #"{"activitycontinuation": {"apps": "KEY.a"}}"#, #"{"activitycontinuation": {"apps": [1]}}"#,
            #"{"activitycontinuation": {"apps": ["com"]}}"#, #"{"activitycontinuation": {"apps": ["*.com.example"]}}"#,
            #"{"activitycontinuation": {"apps": ["KEY..a"]}}"#, #"{"activitycontinuation": {"apps": ["KEY.a b"]}}"#,
            #"{"activitycontinuation": {"apps": ["KEY.\u001b[31m"]}}"#,
            #"{"activitycontinuation": {"apps": []}, "activitycontinuation": {"apps": ["KEY.a"]}}"#,
            #"{"activitycontinuation": {"apps": [], "\u0061pps": ["KEY.a"]}}"#,
            #"{"activitycontinuation": {"apps": ["KEY.a"]}} {}"#,
            String(repeating: "[", count: 60_000), #"{"a": \#(String(repeating: "[", count: 17))"#,
        ]
    )
    func `another form is refused as a whole`(text: String) {
        #expect(self.code(text) == .malformed)
    }

    @Test func `a file has at most 128 KiB, and 1000 applications`() {
        func file(_ count: Int, padding: Int = 0) -> String {
            let apps = (0..<count).map { "\"KEY.a\($0)\"" }.joined(separator: ",")
            return #"{"activitycontinuation": {"apps": [\#(apps)]}}"# + String(repeating: " ", count: padding)
        }
        #expect(self.code(file(1000)) == nil)
        #expect(self.code(file(1001)) == .tooLarge)
        #expect(self.code(file(1, padding: AssociationFile.maxBytes)) == .tooLarge)
        #expect(
            self.code(#"{"activitycontinuation": {"apps": ["K.\#(String(repeating: "a", count: 255))"]}}"#)
                == .malformed
        )
    }

    // MARK: Finding it

    private func response(_ status: Int, _ fields: [String: String] = [:]) -> AssociationResponse {
        AssociationResponse(status: status, fields: fields, body: [1])
    }

    @Test func `the well-known path comes first, and the root only where it has no file (H-83, X-11)`() {
        var fetch = AssociationFetch(host: "a.example")
        #expect(fetch.start() == .request(path: "/.well-known/apple-app-site-association"))
        #expect(fetch.received(self.response(404)) == .request(path: "/apple-app-site-association"))
        guard case .finish(let document) = fetch.received(self.response(200, ["content-type": "Application/JSON"]))
        else {
            Issue.record("not finished")
            return
        }
        #expect(document == AssociationDocument(path: "/apple-app-site-association", form: .json, bytes: [1]))
        var gone = AssociationFetch(host: "a.example")
        _ = gone.start()
        _ = gone.received(self.response(410))
        guard case .fail(let failure) = gone.received(self.response(404)) else {
            Issue.record("not failed")
            return
        }
        #expect(failure.code == .noFile)
    }

    @Test(
        arguments: [
            ("/b", "/b"), ("b?c=d", "/.well-known/b?c=d"), ("https://a.example/b", "/b"),
            ("HTTPS://A.example:443/b", "/b"),
            ("//a.example/b", "/b"), ("https://a.example", "/"),
        ]
    )
    func `a redirect within the host is followed`(location: String, path: String) {
        var fetch = AssociationFetch(host: "a.example")
        _ = fetch.start()
        #expect(fetch.received(self.response(301, ["location": location])) == .request(path: path))
    }

    @Test(
        arguments: [
            "http://a.example/b", "https://b.example/b", "https://a.example:8443/b", "https://a.example.b.example/",
            "https://user@a.example/b", "//b.example/b", "ftp://a.example/b", "", "https://", "/b c", "/b\r\nHost: b",
            "https://a.example@b.example/", "https:\\\\b.example/", "/\(String(repeating: "a", count: 1024))",
        ]
    )
    func `a redirect to another place is refused`(location: String) {
        var fetch = AssociationFetch(host: "a.example")
        _ = fetch.start()
        guard case .fail(let failure) = fetch.received(self.response(302, ["location": location])) else {
            Issue.record("followed: \(location)")
            return
        }
        #expect(failure.code == .redirected)
    }

    @Test func `the time for which a site permits to keep the file is read`() {
        for (field, seconds) in [("max-age=600", 600), ("public, Max-Age=5", 5), ("no-store", 0), ("max-age=-1", nil)] {
            var fetch = AssociationFetch(host: "a.example")
            _ = fetch.start()
            let action = fetch.received(
                self.response(200, ["content-type": "application/json", "cache-control": field])
            )
            guard case .finish(let document) = action else {
                Issue.record("not finished")
                continue
            }
            #expect(document.maxAge == seconds.map { .seconds($0) }, "\(field)")
        }
    }
}
