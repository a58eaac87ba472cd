// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import Tracing

/// Names and attributes of the spans on both sides.
enum RPCSpan {
    static func name(_ service: String, _ operation: String?) -> String {
        operation.map { "\(service)/\($0)" } ?? service
    }

    static func type(of error: any Error) -> String {
        (error as? RemoteSystemError).map { "\($0.code)" } ?? "\(Swift.type(of: error))"
    }
}

extension Span {
    func setRPC(_ method: String, peer: AppServiceCaller, address: String?) {
        self.attributes["rpc.system.name"] = "remote_systems"
        self.attributes["rpc.method"] = method
        self.attributes["remote_systems.peer.system_id"] = "\(peer.systemID)"
        if let address { self.attributes["network.peer.address"] = address }
    }
}
