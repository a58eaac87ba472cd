// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Which release of this SDK it is.
package enum SoftwareVersion {
    /// By Semantic Versioning.
    package static let current = "0.1.0"
}
