// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import RemoteSystems
internal import RemoteSystemsIdentity

/// What the user permits hand-off to do on this system, for all applications and for single ones.
///
/// The settings are stored in the state directory. Running applications of this system apply a change within a second:
/// an activity that may not be sent any more is withdrawn, and offered again when it may be.
public struct HandOffSettings: Sendable, Hashable {
    /// The directions that are permitted.
    public struct Permission: Sendable, Hashable {
        /// Whether activities are offered to other systems. Defaults to `true`.
        public var sending: Bool
        /// Whether activities of other systems are continued. Defaults to `true`.
        public var receiving: Bool

        /// Creates a permission.
        public init(sending: Bool = true, receiving: Bool = true) {
            self.sending = sending
            self.receiving = receiving
        }
    }

    /// Whether applications without a proven publisher hand over, on systems of the same account.
    public enum DeveloperMode: String, Sendable, Hashable, CaseIterable {
        /// They do while no manifest of this system is signed.
        case automatic
        /// They do.
        case on
        /// They do not.
        case off
    }

    /// The maximum number of applications with settings of their own.
    public static let maxApplications = 1024

    /// The permission of all applications together.
    public var everything = Permission()
    /// The permissions of single applications, by their ids. They can only restrict ``everything``.
    public var applications: [String: Permission] = [:]

    /// Whether applications without a proven publisher hand over. Defaults to ``DeveloperMode/automatic``.
    ///
    /// It never lets applications of different publishers hand over to each other, and never applies to systems of
    /// other accounts.
    public var developerMode = DeveloperMode.automatic

    /// Creates settings that permit everything.
    public init() {}

    /// Returns the permission of an application: what is permitted to all applications and to this one.
    ///
    /// - Parameter application: the id of the application.
    public func permission(of application: String) -> Permission {
        let own = self.applications[application] ?? Permission()
        return Permission(
            sending: self.everything.sending && own.sending,
            receiving: self.everything.receiving && own.receiving
        )
    }

    /// Whether applications without a proven publisher hand over on this system now.
    ///
    /// - Parameter hasSignedManifests: whether at least one application manifest of this system is signed.
    public func acceptsUnsigned(hasSignedManifests: Bool) -> Bool {
        switch self.developerMode {
        case .automatic: !hasSignedManifests
        case .on: true
        case .off: false
        }
    }

    /// Reads the settings of this system.
    ///
    /// - Parameter configuration: a configuration of this system. Its state directory counts.
    /// - Throws: `RemoteSystemError` with the code `identity` when the file cannot be read or is damaged. Nothing is
    ///   handed over then.
    public static func read(_ configuration: RemoteSystemsConfiguration) throws(RemoteSystemError) -> HandOffSettings {
        try Self.read(RemoteSystemsAccount(configuration))
    }

    static func read(_ account: RemoteSystemsAccount) throws(RemoteSystemError) -> HandOffSettings {
        let (bytes, path) = try account.contents(of: .handOffSettings)
        return try Self(bytes, path: path)
    }

    /// Changes the settings of this system.
    ///
    /// - Parameters:
    ///   - configuration: a configuration of this system. Its state directory counts.
    ///   - change: changes the present settings.
    /// - Returns: the new settings.
    /// - Throws: `RemoteSystemError` with the code `identity` when the file cannot be read or written or is damaged,
    ///   with the code `invalidArgument` for an invalid id or more than ``maxApplications`` applications. Nothing is
    ///   changed then.
    @discardableResult
    public static func change(
        _ configuration: RemoteSystemsConfiguration,
        _ change: (inout HandOffSettings) -> Void
    ) throws(RemoteSystemError) -> HandOffSettings {
        var settings = HandOffSettings()
        try RemoteSystemsAccount(configuration).update(.handOffSettings) { bytes, path throws(RemoteSystemError) in
            settings = try Self(bytes, path: path)
            change(&settings)
            // An application without restrictions needs no entry.
            settings.applications = settings.applications.filter { $0.value != Permission() }
            return try settings.encoded(path: path)
        }
        return settings
    }
}

// MARK: - The file

extension HandOffSettings {
    private struct File: Codable {
        struct Entry: Codable {
            var sending: Bool?
            var receiving: Bool?

            init(_ permission: Permission) {
                self.sending = permission.sending
                self.receiving = permission.receiving
            }

            var permission: Permission {
                Permission(sending: self.sending ?? true, receiving: self.receiving ?? true)
            }
        }

        var everything: Entry?
        var applications: [String: Entry]?
        var developerMode: String?
    }

    /// Reads the file. Unknown keys are ignored.
    init(_ bytes: [UInt8]?, path: String) throws(RemoteSystemError) {
        guard let bytes, !bytes.isEmpty else { return }
        let file: File
        do {
            file = try JSONDecoder().decode(File.self, from: Data(bytes))
        } catch {
            throw RemoteSystemError(
                .identity,
                """
                \(path) is damaged, so nothing is handed over. Delete the file to permit hand-off again.
                """,
                side: .local,
                cause: error
            )
        }
        self.everything = file.everything?.permission ?? Permission()
        self.applications = (file.applications ?? [:]).mapValues(\.permission)
        // A later version may have more modes. This one is then strict.
        self.developerMode = file.developerMode.map { DeveloperMode(rawValue: $0) ?? .off } ?? .automatic
    }

    private func encoded(path: String) throws(RemoteSystemError) -> [UInt8] {
        guard self.applications.count <= Self.maxApplications,
            self.applications.keys.allSatisfy({ $0.isName })
        else {
            throw RemoteSystemError(
                .invalidArgument,
                "At most \(Self.maxApplications) applications have settings, each named by a valid id.",
                side: .local
            )
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        let file = File(
            everything: File.Entry(self.everything),
            applications: self.applications.mapValues { File.Entry($0) },
            developerMode: self.developerMode.rawValue
        )
        do {
            return Array(try encoder.encode(file)) + [UInt8(ascii: "\n")]
        } catch {
            throw RemoteSystemError(.identity, "\(path) could not be written.", side: .local, cause: error)
        }
    }
}
