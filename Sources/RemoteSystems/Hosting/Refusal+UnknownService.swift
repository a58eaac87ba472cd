// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

extension Refusal {
    /// The refusal of a service that an application does not offer.
    ///
    /// - Parameter callable: the names of the services that the caller may call. The refusal reveals no others.
    init(noService name: String, in application: String, callable: [String]) {
        self.init(
            .appServiceUnavailable,
            code: .serviceNotFound,
            "The application \(application) offers no service \(name)."
                + SimilarNames.question(for: name, among: callable)
                + " It offers \(NameList.text(callable, none: "no services to this caller"))."
        )
    }
}
