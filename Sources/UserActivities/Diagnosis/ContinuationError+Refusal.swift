// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import ValueSets

extension ContinuationError {
    /// The reason why nothing on this system continues an offer.
    ///
    /// - Parameters:
    ///   - type: the type of the activity.
    ///   - receiver: the id of the only application that was considered; `nil` for all.
    ///   - settings: the user's settings; `nil` if they cannot be read.
    ///   - findings: those about the offer.
    package init(
        notContinuing type: String,
        in receiver: String?,
        settings: HandOffSettings?,
        findings: [ContinuationFinding]
    ) {
        let isOn = settings?.everything.receiving ?? false
        var unmet = findings.first { !$0.isMet }
        if let receiver, isOn {
            guard settings?.permission(of: receiver).receiving == false else {
                self.init(
                    .noHandler,
                    "The application \(receiver.quotedUnlessPlain) is not installed here and does not run here, does "
                        + "not continue activities of the type \(type), or may not because of its publisher. "
                        + "'remotesystems activities why-not' checks the conditions.",
                    side: .local
                )
                return
            }
            unmet = .switchedOff(receiver)
        }
        let isSwitchedOff = !isOn || unmet?.isSwitchedOff == true
        self.init(
            unmet?.condition == .publisher ? .publisherMismatch : isSwitchedOff ? .disabled : .noHandler,
            [unmet?.message ?? "Nothing on this system continues this activity now.", unmet?.advice]
                .compactMap(\.self).joined(separator: " "),
            side: .local
        )
    }
}
