// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// Where an offered activity can be continued on this system.
///
/// An application that continues activities of the type comes before the browser.
public enum ContinuationChoice: Sendable, Hashable {
    /// One application continues activities of the type. It runs, or the host daemon starts it.
    case application(RemoteSystemApplication)
    /// Several applications continue activities of the type, in the order of their ids. The user decides.
    case applications([RemoteSystemApplication])
    /// No application continues activities of the type, and a browser shows the activity's web address.
    case browser
    /// Nothing on this system continues the activity.
    case none

    /// Chooses among the applications that continue activities of the offer's type.
    ///
    /// - Parameter preferred: the id of the only application to consider. Defaults to `nil`: all are considered, and
    ///   then the browser.
    init(_ offer: UserActivityOffer, handlers: [RemoteSystemApplication], preferred: String? = nil) {
        let candidates = handlers.filter { preferred == nil || $0.id == preferred }
        switch candidates.count {
        case 0: self = offer.hasWebpage && preferred == nil ? .browser : .none
        case 1: self = .application(candidates[0])
        default: self = .applications(candidates)
        }
    }
}
