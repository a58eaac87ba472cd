// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

extension RemoteSystemConnectionRequest {
    /// Whether the target is a system or an application, which discovery can find, and not an address.
    var canBeFound: Bool {
        switch self.target {
        case .system, .application: true
        default: false
        }
    }

    /// Returns the request for the same system or application as it is known now; `nil` if `system` does not concern
    /// it.
    func refreshed(by system: RemoteSystem, for service: AppServiceDescription) -> RemoteSystemConnectionRequest? {
        let request: RemoteSystemConnectionRequest
        switch self.target {
        case .system(let known) where known.id == system.id:
            request = self.leading(to: .system(system))
        case .application(let known) where known.systemID == system.id:
            guard let application = system.application(known.id) else { return nil }
            request = self.leading(to: .application(application))
        default:
            return nil
        }
        return request.places(of: service).isEmpty ? nil : request
    }

    /// The known endpoints of the service. Sends nothing.
    func places(of service: AppServiceDescription) -> Set<Endpoint> {
        Set((try? self.resolve(service))?.endpoints ?? [])
    }
}
