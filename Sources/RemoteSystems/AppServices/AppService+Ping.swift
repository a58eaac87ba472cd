// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

extension AppService {
    /// The `remote-systems.ping` service, which responds to pings.
    ///
    /// The `Type` of a request is `ping`. The response holds the same entries (`CreationDate`, `TargetId`, a
    /// `Payload`), with the `Type` `pong` (`Docs/wire/ping.md`). A request may hold any value that can be encoded, so
    /// the service also serves to measure. `remotesystems ping` calls it and `remotesystems serve` offers it.
    public static let ping = AppService(AppService.pingName, requestSchema: .full, responseSchema: .full) { request in
        guard request.message["Type"] == "ping" else {
            let text = "This service responds only to messages of the type \"ping\"."
            throw AppServiceFailure(
                Response(status: .failure, failure: WireFailure(text, code: .requestUnknown))
            )
        }
        var response = request.message
        response["Type"] = "pong"
        return response
    }

    /// The name of the ``ping`` service.
    public static let pingName = "remote-systems.ping"
    /// The name of the service that exercises the protocol (`remotesystems serve --conformance`).
    package static let conformanceName = "remote-systems.conformance"
}
