// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

@testable import RemoteSystemsIdentity

/// A temporary directory for one test, removed with the object.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        self.path =
            FileManager.default.temporaryDirectory.path + "/remote-systems-test-" + SecretDirectory.uniqueSuffix()
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// A store in a subdirectory that does not exist yet.
    var store: AccountStore { AccountStore(directory: self.path + "/state") }

    /// The relative paths of all files and directories below, sorted.
    func contents() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: self.path).sorted()
    }

    /// All files below and their bytes. Equal before and after means that nothing was changed.
    func snapshot() throws -> [String: Data] {
        var snapshot: [String: Data] = [:]
        for name in try self.contents() {
            snapshot[name] = FileManager.default.contents(atPath: self.path + "/" + name) ?? Data()
        }
        return snapshot
    }
}

func code(_ body: () throws(IdentityError) -> some Any) -> IdentityError.Code? {
    do throws(IdentityError) {
        _ = try body()
        return nil
    } catch {
        return error.code
    }
}
