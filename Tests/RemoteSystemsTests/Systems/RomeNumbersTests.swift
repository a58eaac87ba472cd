// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import Testing

/// Numbers and names that are Project Rome's and never change. Those of the statuses are in `StatusTests`.
@Suite struct RomeNumbersTests {
    @Test func `statuses of systems have Rome's numbers (X-26)`() {
        let statuses: [RemoteSystemStatus] = [.unavailable, .discoveringAvailability, .available, .unknown]
        #expect(statuses.map(\.rawValue) == [0, 1, 2, 3])
    }

    @Test func `kinds of systems have Rome's names (X-27)`() {
        let kinds: [RemoteSystemKind] = [.desktop, .holographic, .hub, .phone, .xbox, .laptop, .iot, .tablet]
        let names = ["desktop", "holographic", "hub", "phone", "xbox", "laptop", "iot", "tablet"]
        #expect(kinds.map(\.rawValue) == names)
    }

    @Test func `platforms have Rome's numbers, Linux the one reserved for it (X-28)`() {
        let platforms: [RemoteSystemPlatform] = [.unknown, .windows, .android, .iOS, .linux]
        #expect(platforms.map(\.rawValue) == [0, 1, 2, 3, 4])
    }

    @Test func `discovery types and authorisation kinds have Rome's numbers (X-30, X-31)`() {
        let types: [RemoteSystemDiscoveryType] = [.any, .proximal, .cloud, .spatiallyProximal]
        #expect(types.map(\.rawValue) == [0, 1, 2, 3])
        #expect([RemoteSystemAuthorizationKind.sameUser, .anonymous].map(\.rawValue) == [0, 1])
    }

    @Test func `errors of watchers have Rome's numbers, ours begin at 16 (X-32)`() {
        let codes: [RemoteSystemWatcherError.Code] = [
            .unknown, .internetNotAvailable, .authenticationError, .discoveryHampered,
        ]
        #expect(codes.map(\.rawValue) == [0, 1, 2, 16])
    }

    @Test func `a number that this version does not know is kept`() {
        #expect(RemoteSystemStatus(rawValue: 17).rawValue == 17)
        #expect(RemoteSystemKind(rawValue: "toaster").description == "toaster")
        #expect(RemoteSystemPlatform(rawValue: 9).description.contains("9"))
    }

    @Test func `a known number is described by its name`() {
        #expect(
            [RemoteSystemStatus.unavailable, .discoveringAvailability, .available, .unknown].map(\.description)
                == ["unavailable", "discoveringAvailability", "available", "unknown"]
        )
        #expect(
            [RemoteSystemPlatform.unknown, .windows, .android, .iOS, .linux].map(\.description)
                == ["unknown", "windows", "android", "iOS", "linux"]
        )
        #expect(
            [RemoteSystemDiscoveryType.any, .proximal, .cloud, .spatiallyProximal].map(\.description)
                == ["any", "proximal", "cloud", "spatiallyProximal"]
        )
        #expect(
            [RemoteSystemAuthorizationKind.sameUser, .anonymous, .linked].map(\.description)
                == ["sameUser", "anonymous", "linked"]
        )
        #expect(
            [RemoteSystemLocalVisibilityKind.showAll, .hideLocalApp].map(\.description)
                == ["showAll", "hideLocalApp"]
        )
        #expect(
            [RemoteSystemRegistrationState.unregistered, .registered, .expiring, .expired].map(\.description)
                == ["unregistered", "registered", "expiring", "expired"]
        )
        #expect(
            [AppServiceClosedStatus.completed, .cancelled, .resourceLimitsExceeded, .unknown].map(\.description)
                == ["completed", "cancelled", "resourceLimitsExceeded", "unknown"]
        )
        #expect(
            [
                AppServiceResponseStatus.success, .failure, .resourceLimitsExceeded, .unknown, .remoteSystemUnavailable,
                .messageTooLarge, .connectionClosed,
            ].map(\.description) == [
                "success", "failure", "resourceLimitsExceeded", "unknown", "remoteSystemUnavailable", "messageTooLarge",
                "connectionClosed",
            ]
        )
        #expect(
            [
                AppServiceConnectionStatus.success, .appNotInstalled, .appUnavailable, .appServiceUnavailable, .unknown,
                .remoteSystemUnavailable, .remoteSystemNotSupportedByApp, .notAuthorized,
            ].map(\.description) == [
                "success", "appNotInstalled", "appUnavailable", "appServiceUnavailable", "unknown",
                "remoteSystemUnavailable", "remoteSystemNotSupportedByApp", "notAuthorized",
            ]
        )
        #expect(
            [
                StatelessAppServiceResponseStatus.success, .appNotInstalled, .appUnavailable, .appServiceUnavailable,
                .remoteSystemUnavailable, .remoteSystemNotSupportedByApp, .notAuthorized, .resourceLimitsExceeded,
                .messageTooLarge, .failure, .unknown,
            ].map(\.description) == [
                "success", "appNotInstalled", "appUnavailable", "appServiceUnavailable", "remoteSystemUnavailable",
                "remoteSystemNotSupportedByApp", "notAuthorized", "resourceLimitsExceeded", "messageTooLarge",
                "failure",
                "unknown",
            ]
        )
        #expect(
            [
                RemoteLaunchURIStatus.unknown, .success, .appUnavailable, .protocolUnavailable,
                .remoteSystemUnavailable,
                .valueSetTooLarge, .deniedByLocalSystem, .deniedByRemoteSystem,
            ].map(\.description) == [
                "unknown", "success", "appUnavailable", "protocolUnavailable", "remoteSystemUnavailable",
                "valueSetTooLarge", "deniedByLocalSystem", "deniedByRemoteSystem",
            ]
        )
    }

    @Test func `an unknown number is described by its type and the number`() {
        #expect(AppServiceClosedStatus(rawValue: 4).description == "appServiceClosedStatus 4")
        #expect(RemoteLaunchURIStatus(rawValue: -1).description == "remoteLaunchURIStatus -1")
    }
}
