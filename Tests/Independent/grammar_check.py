# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Checks the grammar of the wire protocol with a second CDDL tool: pycddl, the `cddl` crate in Python.

grammar_check.py GRAMMAR VECTORS     the tool must accept the file, and all vectors that senders send

Refusals are not checked: its version 0.6 accepts some input that RFC 8610 excludes. Prints a line for each failure, or
"all right".
"""
import json
import sys

import cbor2
import pycddl

from wire_vectors import FRAMED, RULES

LIMITS = {"version": [1, 0], "limit": 1024, "window": 1, "window-bytes": 1024}
# Messages that the vectors lack.
EXAMPLES = [
    ("frame", [0, {**LIMITS, "service": "s", "target": "", "features": ["a", "com.example.b"], "requires": []}]),
    ("frame", [3, 1, 1000, {}, None]),
    ("frame", [8, 2, {"text": "No.", "retry": False, "code": "frame-too-long"}]),
    ("schema", {"base": "appService", "fields": {"a": {"type": "array", "of": {"type": "string"}, "required": True}}}),
    ("join-message", [2, {"code": bytes(32)}]),
    ("join-message", [4, {"reason": "expired"}]),
    ("presence-system", {"Platform": 4, "DisplayName": "Attic"}),
    ("presence-application", {"Id": "a", "Schemes": ["player"], "Topics": ["com.example.playing"]}),
    ("presence-attribute", {"Value": "attic"}),
    ("presence-service", {"Version": "2", "Remote": False}),
    ("presence-schema", {"Bytes": b"0"}),
    ("presence-installed", {"DisplayName": "Film", "Attributes": {"key": "value"}, "Services": {"s": {"RequestSchema": {"base": "full"}}}}),
    ("presence-running", {}),
    ("presence-running", {"Number": 3, "Port": 4711, "Epoch": 9}),
    ("presence-process", {"Value": "attic"}),
    ("registry-register", {"Type": "register", "Port": 4711, "Epoch": 9, "Network": "all", "Loopback": False}),
    ("registry-registered", {"Represented": True}),
    ("trust-list", {"Bytes": bytes(72)}),
    ("linked-account", {"roots": bytes(400)}),
    ("linked-account", {
        "roots": bytes(400), "revocations": bytes(104), "older-revocations": [bytes(104), bytes(136)],
        "withdrawal": bytes(72), "own-withdrawal": bytes(72),
    }),
    ("presence-renew", {"Type": "renew", "Request": b"0"}),
    ("diagnosis-request", {"Type": "look", "Instance": "abc"}),
    ("diagnosis-response", {"Outcome": "silent"}),
    ("diagnosis-response", {"Time": cbor2.CBORTag(1, 0), "Version": "1", "Address": "::1", "Advertised": ["abc"]}),
    ("presence-renewed", {"Certificate": b"0"}),
    ("launch-request", {"Type": "launch", "Uri": "a:b", "Input": {"a": 1}}),
    ("launch-response", {"Status": 1, "Opened": "uri"}),
    ("activity-descriptor", {"Type": "com.example.editing", "Expires": cbor2.CBORTag(1, 0), "Lifetime": 600, "Title": "A"}),
    ("activity-handled-types", {"Types": ["com.example.editing"]}),
    ("activity-request", {"Request": "fetch", "Activity": cbor2.CBORTag(37, bytes(16))}),
    ("activity-request", {"Request": "confirm", "Continuation": cbor2.CBORTag(37, bytes(16))}),
    ("activity-request", {"Request": "return", "Continuation": cbor2.CBORTag(37, bytes(16))}),
    ("activity-fetched", {
        "Continuation": cbor2.CBORTag(37, bytes(16)),
        "Payload": {"Type": "com.example.editing", "UserInfo": {"caret": 7}, "Keywords": ["draft"], "Stale": True},
    }),
    ("ping-request", {"Type": "ping", "CreationDate": cbor2.CBORTag(1, 0), "Other": [1]}),
]


def sent(vectors):
    for kind, rule in RULES.items():
        for vector in vectors[kind]:
            if "refused" not in vector and vector.get("encodes", True):
                data = bytes.fromhex(vector["hex"])
                yield vector["name"], rule, data[4:] if kind in FRAMED else data


def main(grammar, vectors):
    with open(grammar, encoding="utf-8") as file:
        text = file.read()
    with open(vectors, encoding="utf-8") as file:
        cases = list(sent(json.load(file)))
    cases += [(f"{rule} {example}", rule, cbor2.dumps(example, canonical=True)) for rule, example in EXAMPLES]
    failed, schemas = False, {}
    for name, rule, data in cases:
        try:
            if rule not in schemas:
                # The tool starts with the first rule.
                schemas[rule] = pycddl.Schema(f"first-rule = {rule}\n{text}")
            schemas[rule].validate_cbor(data)
        except (ValueError, pycddl.ValidationError) as error:
            failed = True
            print(f"{name}: {str(error).splitlines()[0][:200]}")
    if not failed:
        print("all right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
