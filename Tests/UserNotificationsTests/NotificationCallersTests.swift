// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import InMemoryLogging
import Logging
import RemoteSystems
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import UserNotifications

/// Who may send which request to the service that receives notifications.
@Suite struct NotificationCallersTests {
    @Test func `a request is refused by its type, before the rest of it is read`() async throws {
        let callers: [(caller: AppServiceCaller, permitted: Set<RequestCallers>)] = [
            (.staged(authorizationKind: .anonymous), [.all]),
            (.staged(), [.all, .account]),
            (.staged(applicationID: RemoteSystemHost.machineApplicationID), [.all, .account, .accountDaemons]),
            (.staged(isLocal: true), [.all, .account, .sameSystem]),
        ]
        try await ReceivingSystem.with { receiving in
            let refusals = RefusalLog(receiving.stage.configuration)
            let service = NotificationService(receiver: receiving.receiver, refusals: refusals)
            for (caller, permitted) in callers {
                for (type, those) in NotificationMessage.callers where !permitted.contains(those) {
                    // None of it has the type that it has to have.
                    let message: ValueSet = ["Type": .string(type), "Key": 7, "Ids": 7, "Digest": 7, "Delivery": 7]
                    let request = AppServiceRequest.staged(message, from: caller)
                    let failure = await #expect(throws: AppServiceFailure.self) {
                        _ = try await service.respond(to: request)
                    }
                    #expect(failure?.code == "org.remotesystems.notifications.not-authorized", "\(type)")
                }
            }
        }
    }

    @Test func `a refused request is recorded with its type`() async throws {
        try await ReceivingSystem.with { receiving in
            let log = InMemoryLogHandler()
            var configuration = receiving.stage.configuration
            configuration.logger = Logger(label: "test") { _ in log }
            let service = NotificationService(receiver: receiving.receiver, refusals: RefusalLog(configuration))
            let caller = AppServiceCaller.staged()
            let request = AppServiceRequest.staged(["Type": "respond", "Key": "1", "Action": "yes"], from: caller)
            await #expect(throws: AppServiceFailure.self) { _ = try await service.respond(to: request) }
            var metadata = try #require(log.entries.first?.metadata).mapValues { "\($0)" }
            #expect(metadata.removeValue(forKey: "peer.account") != nil)
            #expect(
                metadata == [
                    "event": "access.refused", "peer.system": "\(caller.systemID)", "peer.standing": "sameAccount",
                    "peer.application": "test.caller", "target": "service",
                    "service": "org.remotesystems.notifications", "request": "respond", "decision": "deny",
                    "reason": "caller-not-local",
                ]
            )
        }
    }
}
