// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import RemoteSystems

/// Vouches for programs by comparing them with the manifests (`Docs/decisions/0036-publishers.md`).
extension ApplicationRegistry: PublisherVouching {
    /// Compares a process with the manifest of the application that it claims to be. Reads `/proc`.
    package func publisher(of application: String, process: ProgramProcess) async -> ApplicationPublisher {
        guard let signed = self.signedManifest(of: application) else {
            return self.isBadlySigned(application) ? .invalidSignature : .unsigned
        }
        // This process registers programs on the bus under their own ids. It is not one of them.
        let isOwn = process.pid == getpid()
        guard let judged = isOwn ? self.represented(application) : process else { return .unproven(signed.publisher) }
        let isProven = await BlockingCalls.run { ProgramFacts(judged).map(signed.programs.include) ?? false }
        return isProven ? .proven(signed.publisher) : .unproven(signed.publisher)
    }

    /// Whether one of the manifests is signed, or was before it was damaged: damaging the only signed manifest must not
    /// switch developer mode on.
    package var hasSignedManifests: Bool { !self.publishers.isEmpty || self.hasDamagedSignature }
}
