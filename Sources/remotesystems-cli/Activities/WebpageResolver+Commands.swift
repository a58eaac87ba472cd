// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsDesktop
import WebAssociations
import WebAssociationsHTTP

extension WebpageResolver {
    /// The resolver of a command: the manifests of this machine, and sites that are asked over HTTPS.
    ///
    /// - Parameter registry: the manifests. Defaults to `nil`: they are read now.
    init(_ configuration: RemoteSystemsConfiguration, registry: ApplicationRegistry? = nil) {
        self.init(
            registry ?? ApplicationRegistry(stateDirectory: configuration.stateDirectory, logger: configuration.logger),
            sites: AssociationVerifier(configuration, makeClient: HTTPSAssociationClient.make)
        )
    }
}
