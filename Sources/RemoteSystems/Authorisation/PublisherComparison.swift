// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity

/// Whether two applications may hand activities to each other (`Docs/decisions/0036-publishers.md`). A value type
/// without I/O.
///
/// ``Authorisation`` decides before anything is read from the peer. What proves a publisher arrives later, in a request
/// of a peer that was admitted, so this decision is made in addition.
package struct PublisherComparison: Sendable, Hashable {
    /// The publisher of the application of this system.
    package var own: ApplicationPublisher
    /// The publisher of the application of the other system.
    package var other: ApplicationPublisher
    /// Whether applications without a proven publisher take part on this system.
    package var acceptsUnsigned: Bool
    /// Whether the other system belongs to the same account.
    package var isSameAccount: Bool
    /// Whether both applications are those of the product itself for the activity's type, which no publisher signs.
    package var isBuiltIn: Bool

    package init(
        own: ApplicationPublisher,
        other: ApplicationPublisher,
        acceptsUnsigned: Bool,
        isSameAccount: Bool = true,
        isBuiltIn: Bool = false
    ) {
        self.own = own
        self.other = other
        self.acceptsUnsigned = acceptsUnsigned
        self.isSameAccount = isSameAccount
        self.isBuiltIn = isBuiltIn
    }

    /// The reason why an activity is not handed over. `own` is the application of this system.
    package enum Refusal: Sendable, Hashable {
        /// Both publishers are proven, and differ.
        case different
        /// The manifest of an application has a signature that is not valid.
        case invalid(isOwn: Bool)
        /// The publisher of an application is not proven.
        case notProven(ApplicationPublisher, isOwn: Bool)
    }

    /// The reason why nothing is handed over; `nil` if it may be.
    package var refusal: Refusal? {
        switch (self.own, self.other) {
        case (.proven(let own), .proven(let other)): own == other ? nil : .different
        // An altered manifest is not the same as none: developer mode does not accept it.
        case (.invalidSignature, _): .invalid(isOwn: true)
        case (_, .invalidSignature): .invalid(isOwn: false)
        case _ where self.isSameAccount && (self.acceptsUnsigned || self.isBuiltIn): nil
        case (_, .proven): .notProven(self.own, isOwn: true)
        default: .notProven(self.other, isOwn: false)
        }
    }

    /// A sentence for people about the refusal, and what to do.
    ///
    /// - Parameters:
    ///   - own: a phrase that names the application of this system.
    ///   - other: a phrase that names the application of the other system.
    package func explanation(_ refusal: Refusal, own: String, other: String) -> (message: String, advice: String) {
        func name(_ isOwn: Bool) -> String { isOwn ? own : other }
        switch refusal {
        case .different:
            return (
                "The applications have different publishers: \(own) has \(self.own), and \(other) has \(self.other).",
                "Only applications of one publisher hand activities to each other."
            )
        case .invalid(let isOwn):
            return (
                "The manifest of \(name(isOwn)) has a signature that is not valid.",
                "The publisher must sign it again ('remotesystems app sign'). 'remotesystems app verify' shows what is "
                    + "wrong."
            )
        case .notProven(.unsigned, let isOwn):
            return ("\(name(isOwn)) is not signed.".startingUpperCase, Self.advice(self.isSameAccount, "Sign it"))
        case .notProven(_, let isOwn):
            return (
                "The publisher of \(name(isOwn)) is not proven: its process is none that its manifest names, or its "
                    + "system has no host daemon.",
                Self.advice(self.isSameAccount, "Name the program in its manifest, and run the host daemon")
            )
        }
    }

    private static func advice(_ isSameAccount: Bool, _ first: String) -> String {
        guard isSameAccount else {
            return "\(first). Developer mode does not apply to systems of other accounts."
        }
        return "\(first) ('remotesystems app'), or permit unsigned applications on both systems: 'remotesystems "
            + "activities settings --developer-mode on'."
    }
}

extension String {
    fileprivate var startingUpperCase: String { self.prefix(1).uppercased() + self.dropFirst() }
}
