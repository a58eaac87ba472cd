// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

extension AppService {
    /// The service that answers pings: `remote-systems.ping`.
    ///
    /// A request says `Type` `ping`; whatever else it holds (`CreationDate`, `TargetId`, a `Payload`) comes back as it was,
    /// with `Type` `pong` (`Docs/wire/ping.md`). Any message that can be said may be in it, so it
    /// serves to measure, too. `remotesystems ping` and `remotesystems serve` are its two ends.
    public static let ping = AppService(AppService.pingName, requestSchema: .full, responseSchema: .full) { request in
        guard request.message["Type"] == "ping" else {
            let text = "This service answers messages of the type \"ping\" only."
            throw AppServiceFailure(
                Response(status: .failure, failure: WireFailure(text, code: .requestUnknown))
            )
        }
        var response = request.message
        response["Type"] = "pong"
        return response
    }

    /// The name of ``ping``.
    public static let pingName = "remote-systems.ping"
    /// The name of the service that exercises the protocol (`remotesystems serve --conformance`).
    package static let conformanceName = "remote-systems.conformance"
}
