# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""A system of a new account, which requests services from a host and prints the results.

usage: stranger.py DIRECTORY ADDRESS PORT SERVICE…
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Independent"))
import client  # noqa: E402

directory, address, port, *services = sys.argv[1:]
account = client.Identity.create(directory + "/account")
stranger = client.Identity.create(directory + "/system")
# Made twice, since the name contains the id of the key. Everything is valid except the signature, which the host
# cannot verify.
client.openssl("req", "-x509", "-key", stranger.path("key.pem"), "-subj", "/", "-days", "30", "-sha256",
               "-addext", f"subjectAltName=URI:remote-systems://{account.id}/{stranger.id}",
               "-addext", "keyUsage=critical,digitalSignature", "-addext", "extendedKeyUsage=clientAuth,serverAuth",
               "-addext", "basicConstraints=critical,CA:FALSE", "-out", stranger.path("certificate.pem"))
for service in services:
    with client.Connection((address, int(port)), stranger) as connection:
        connection.send([client.HELLO, connection.hello(service)])
        kind, outcome = connection.receive()[:2]
        if kind == client.ACCEPT and service == "remote-systems.ping":
            connection.accepted = outcome
            print(f"{service} answers {connection.request({'Type': 'ping'})[1].get('Type')}")
        else:
            print(f"{service} accepted" if kind == client.ACCEPT else f"{service} refused with {outcome}")
