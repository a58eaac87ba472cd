// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsDesktop
internal import UserActivities

/// A site's list of the applications that may show its pages.
///
/// ```json
/// {"activitycontinuation": {"apps": ["PUBLISHER.com.example.reader"]}}
/// ```
package struct AssociationFile: Sendable, Hashable {
    /// The maximum length of a file and of a signed file, in bytes.
    package static let maxBytes = 128 << 10
    /// The maximum number of applications.
    package static let maxApplications = 1000
    /// The maximum length of an application's entry, in bytes.
    package static let maxEntryBytes = ActivityTypeName.maxBytes
    /// The maximum depth of nested objects and arrays.
    package static let maxDepth = 16

    /// The approved applications, each as `publisher.application`.
    package let applications: Set<String>

    /// Reads a file without a signature. Unknown keys are ignored.
    package init(json: [UInt8]) throws(AssociationFailure) {
        guard json.count <= Self.maxBytes else {
            throw AssociationFailure(.tooLarge, "The file has more than \(Self.maxBytes) bytes, the maximum.")
        }
        guard Self.depth(of: json) <= Self.maxDepth else {
            throw AssociationFailure(.malformed, "The file has more than \(Self.maxDepth) levels of nesting.")
        }
        let lines = JSONLines(json)
        if let line = lines.brokenLine {
            throw AssociationFailure(.malformed, "The file is not JSON (line \(line)).")
        }
        if let duplicate = lines.duplicates.first {
            throw AssociationFailure(
                .malformed,
                "Line \(lines.line(of: duplicate)): the key '\((duplicate.last ?? "").prefix(80))' is there twice."
            )
        }
        let content: Content
        do {
            content = try JSONDecoder().decode(Content.self, from: Data(json))
        } catch {
            throw AssociationFailure(
                .malformed,
                "The file has no list of texts 'apps' in an object '\(AssociationFile.section)'."
            )
        }
        try self.init(content.activitycontinuation?.apps ?? [])
    }

    private init(_ entries: [String]) throws(AssociationFailure) {
        guard entries.count <= Self.maxApplications else {
            throw AssociationFailure(.tooLarge, "The file lists more than \(Self.maxApplications) applications.")
        }
        for (index, entry) in entries.enumerated() where !ActivityTypeName.isValid(entry) {
            throw AssociationFailure(
                .malformed,
                "'\(Self.section).apps[\(index)]' is not of the form PUBLISHER.APPLICATION, of at most "
                    + "\(Self.maxEntryBytes) letters, digits, '.', '-' and '_'."
            )
        }
        self.applications = Set(entries)
    }

    /// The section that is read. A file without it approves no application.
    package static let section = "activitycontinuation"

    private struct Content: Decodable {
        struct Section: Decodable { var apps: [String] }
        var activitycontinuation: Section?
    }

    /// The depth of nesting, counted before anything is parsed.
    private static func depth(of json: [UInt8]) -> Int {
        var (depth, deepest, isInString, isEscaped) = (0, 0, false, false)
        for byte in json {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
            } else if byte == UInt8(ascii: "\"") {
                isInString = true
            } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                depth += 1
                deepest = max(deepest, depth)
            } else if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
                depth -= 1
            }
        }
        return deepest
    }
}
