# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Announces many services with python-zeroconf: of our type, like hosts of other accounts, and of other types.

Arguments: ADDRESS OURS OTHERS. Prints lines of JSON; `announcing` once all are announced.
"""

import asyncio
import json
import os
import socket
import sys

from zeroconf import IPVersion, ServiceInfo
from zeroconf.asyncio import AsyncZeroconf

address, ours, others = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
OTHER_TYPES = ["_http._tcp.local.", "_ipp._tcp.local.", "_ssh._tcp.local.", "_smb._tcp.local."]


def service(type_, name, number, properties):
    return ServiceInfo(
        type_, f"{name}.{type_}", addresses=[socket.inet_aton(address)], port=1024 + number, properties=properties,
        server="crowd.local.",
    )


async def main():
    zeroconf = AsyncZeroconf(interfaces=[address], ip_version=IPVersion.V4Only)
    infos = [
        service("_remote-systems._tcp.local.", os.urandom(16).hex(), number, {b"v": b"1", b"t": os.urandom(6).hex()})
        for number in range(ours)
    ] + [
        service(OTHER_TYPES[number % len(OTHER_TYPES)], f"thing {number}", number, {b"path": b"/"})
        for number in range(others)
    ]
    for start in range(0, len(infos), 100):
        batch = infos[start:start + 100]
        tasks = [await zeroconf.async_register_service(info, cooperating_responders=True) for info in batch]
        await asyncio.gather(*tasks)
    print(json.dumps({"event": "announcing"}), flush=True)
    await asyncio.sleep(120)


asyncio.run(main())
