// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import Synchronization
internal import ValueSets

/// The activity of an open document, made and kept current for it.
///
/// ```swift
/// let binding = DocumentActivity(type: "com.example.editing", document: url, title: "Minutes")
/// binding.activity.addResponder(textView)  // adds the caret
/// try await binding.windowBecameMain()
/// ```
///
/// The content has the document's URL under ``documentKey``. The host translates it for the other system
/// (``UserActivityHost/Options/documents``). Closing the document ends the activity, and so does releasing this object.
public final class DocumentActivity: Sendable {
    /// The key of the document's URL in the content.
    public static let documentKey = "documentURL"

    /// The activity.
    public let activity: UserActivity
    private let location: DocumentLocation

    /// Creates the activity of a document.
    ///
    /// - Parameters:
    ///   - type: the activity type of this kind of document.
    ///   - document: the document's `file:` URL.
    ///   - title: the title that users see. Defaults to `nil`: the name of the file.
    public init(type: String, document: URL, title: String? = nil) {
        self.activity = UserActivity(type: type, title: title ?? document.lastPathComponent)
        self.location = DocumentLocation(document)
        self.activity.userInfo = [Self.documentKey: .url(document)]
        self.activity.addResponder(self.location)
    }

    deinit { self.activity.invalidate() }

    /// The document's URL. Set it when the document has moved. May be used from any thread;
    /// ``UserActivity/changes`` reports the change.
    public var document: URL {
        get { self.location.url }
        set {
            self.location.url = newValue
            self.activity.addUserInfoEntries([Self.documentKey: .url(newValue)])
        }
    }

    /// Makes the activity the application's current one. Call it when the document's window becomes the main one.
    ///
    /// - Parameter host: the application's host. Defaults to `nil`: the only one of this process.
    /// - Throws: the errors of ``UserActivity/becomeCurrent(at:)``.
    public func windowBecameMain(at host: UserActivityHost? = nil) async throws {
        try await self.activity.becomeCurrent(at: host)
    }

    /// Ends the activity, because the document was closed.
    public func close() { self.activity.invalidate() }
}

/// Adds the document's URL to the activity.
private final class DocumentLocation: ActivityResponder {
    private let state: Mutex<URL>

    init(_ url: URL) { self.state = Mutex(url) }

    var url: URL {
        get { self.state.withLock { $0 } }
        set { self.state.withLock { $0 = newValue } }
    }

    func updateUserActivityState(_ activity: UserActivity) async {
        activity.addUserInfoEntries([DocumentActivity.documentKey: .url(self.url)])
    }

    func restoreUserActivityState(_ activity: UserActivity) async {}
}
