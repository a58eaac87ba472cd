// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Logging
import RemoteSystemsDiscovery

// Browses or advertises on one simulated host and prints what happens as lines of JSON, until stdin closes or SIGTERM
// arrives.
guard let options = Options(CommandLine.arguments.dropFirst()) else {
    Output.line([
        "error":
            "usage: discovery-probe (browse|advertise|select) [mode=…] [interfaces=a,b] [instance=…] [port=…] "
            + "[count=…] [key:value]…"
    ])
    exit(64)
}
await Probe(options: options).run()
