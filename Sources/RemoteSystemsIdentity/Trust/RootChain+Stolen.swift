// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

extension RootChain {
    /// The time at which the last stolen root key was retired; `nil` if none was stolen. Every certificate that was
    /// issued before is invalid.
    package var lastTheft: Date? {
        (1...self.count).filter { self.isStolen($0) }.compactMap { self.retirement(of: $0) }.max()
    }
}
