// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems

/// A notification content extension in a manifest.
package struct ContentExtensionEntry: Decodable, Sendable, Hashable {
    /// The program and its arguments.
    package var exec: [String]
    /// The categories of the notifications that it shows.
    package var categories: [String]
    /// Whether the texts of the notification are left out. Defaults to `false`.
    package var hidesDefaultContent: Bool
    /// The height of the view in relation to its width, until the extension has responded. Defaults to 0.5.
    package var initialRatio: Double

    private enum Key: String, CodingKey, CaseIterable {
        case exec, categories, defaultContentHidden, initialContentSizeRatio
    }

    static let keys = Set(Key.allCases.map(\.stringValue))

    package init(from decoder: any Decoder) throws {
        let container = try decoder.tolerantContainer(keyedBy: Key.self)
        self.exec = try container.arguments(.exec)
        // One category may be a string alone.
        if let category = try? container.decode(String.self, forKey: .categories) {
            self.categories = [category]
        } else {
            self.categories = try container.decode([String].self, forKey: .categories)
        }
        guard (1...64).contains(self.categories.count), Set(self.categories).count == self.categories.count,
            self.categories.allSatisfy({ (1...128).contains($0.utf8.count) && $0.isShownAsIs })
        else {
            throw container.invalid(.categories, "takes one category, or an array of 1 to 64, each once")
        }
        self.hidesDefaultContent = try container.decodeIfPresent(Bool.self, forKey: .defaultContentHidden) ?? false
        self.initialRatio = try container.decodeIfPresent(Double.self, forKey: .initialContentSizeRatio) ?? 0.5
        guard (0.1...4).contains(self.initialRatio) else {
            throw container.invalid(.initialContentSizeRatio, "is a number from 0.1 to 4")
        }
    }
}
