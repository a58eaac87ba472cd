// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The version of this SDK.
package enum SoftwareVersion {
    /// The current version, by Semantic Versioning.
    package static let current = "0.1.0"
}
