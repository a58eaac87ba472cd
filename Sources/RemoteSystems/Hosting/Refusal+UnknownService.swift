// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

extension Refusal {
    /// A service that an application does not offer.
    ///
    /// - Parameter callable: the names of those that the caller may call: of others it learns nothing.
    init(noService name: String, in application: String, callable: [String]) {
        self.init(
            .appServiceUnavailable,
            code: .serviceNotFound,
            "The application \(application) offers no service \(name)."
                + SimilarNames.question(for: name, among: callable)
                + " It offers \(NameList.text(callable, none: "this caller none"))."
        )
    }
}
