// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsDesktop
import ValueSets

// Opening URIs.
// snippet.open
var options = RemoteSystemHost.Options()
options.launchURIProvider = await DesktopURILauncher()
// snippet.end

struct Dialog {
    func confirms(_ question: String) async -> Bool {
        print(question)
        return readLine() == "yes"
    }
}

let dialog = Dialog()

// Asking the user.
// snippet.ask
var policy = URISchemePolicy.standard
policy.rules["player"] = .allow
policy.rules["ssh"] = .ask
policy.ask = { request in await dialog.confirms("Open \(request.uri)?") }
let launcher = await DesktopURILauncher(policy: policy)
// snippet.end

let message: ValueSet = ["Volume": 0.5]
let response = try message.makeGVariant()

// Values on D-Bus.
// snippet.variant
let variant = try message.makeGVariant()  // floating: g_dbus_connection_call sinks the reference
let received = try ValueSet(gVariant: response)  // the caller keeps its reference
// snippet.end
