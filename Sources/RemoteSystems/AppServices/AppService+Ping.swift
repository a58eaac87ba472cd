// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

extension AppService {
    /// A service that responds to pings, with the name ``pingName``.
    ///
    /// The `Type` of a request is `ping`. The response holds the entries of the request (such as `CreationDate`,
    /// `TargetId` and a `Payload`), with the `Type` `pong` (`Docs/wire/ping.md`). A request with another `Type` fails
    /// with ``AppServiceResponseStatus/failure``. A request may hold any value that can be encoded, so the service can
    /// also be used to measure response times. `remotesystems ping` calls it and `remotesystems serve` offers it.
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

    /// The name of the ``ping`` service: `remote-systems.ping`.
    public static let pingName = "remote-systems.ping"
    /// The name of the service that exercises the protocol (`remotesystems serve --conformance`).
    package static let conformanceName = "remote-systems.conformance"
}
