#!/usr/bin/env python3
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Writes the seeds of the corpora and the dictionaries, from Docs/wire-vectors.json and from examples below.

A seed's file is named after the hash of its content, so running this again changes nothing but new seeds.
"""

import base64
import hashlib
import json
import pathlib
import struct
import zlib

HERE = pathlib.Path(__file__).resolve().parent
VECTORS = json.loads((HERE / "../../Docs/wire-vectors.json").read_text())
MAX_BYTES = 4096


def write(target: str, content: bytes) -> None:
    """Adds a seed to a target's corpus."""
    if not 0 < len(content) <= MAX_BYTES:
        return
    folder = HERE / "Corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha256(content).hexdigest()[:12]).write_bytes(content)


def command(kind: int, argument: int = 0, payload: bytes = b"") -> bytes:
    """A command of a conversation (Sources/Fuzz/Command.swift)."""
    return struct.pack(">BBH", kind, argument, len(payload)) + payload


def script(head: tuple[int, ...], *commands: bytes) -> bytes:
    return bytes(head).ljust(4, b"\0") + b"".join(commands)


RAW, FRAMED, READ_END, TIME, WRITABLE, RESUME, CALL, READ, END, COMMIT, FOLLOW, PEER_END, SECURE, TURN = (
    0, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
)


def head_argument(value: int, major: int) -> bytes:
    """A head of CBOR in its shortest form."""
    if value < 24:
        return bytes([major << 5 | value])
    for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if value < 1 << 8 * size:
            return bytes([major << 5 | code]) + value.to_bytes(size, "big")
    raise ValueError(value)


def cbor(value: object) -> bytes:
    """Encodes integers, strings, bytes, lists and dictionaries deterministically."""
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return head_argument(value, 0) if value >= 0 else head_argument(-1 - value, 1)
    if isinstance(value, bytes):
        return head_argument(len(value), 2) + value
    if isinstance(value, str):
        return head_argument(len(value.encode()), 3) + value.encode()
    if isinstance(value, list):
        return head_argument(len(value), 4) + b"".join(cbor(item) for item in value)
    assert isinstance(value, dict)
    pairs = sorted((cbor(key), cbor(item)) for key, item in value.items())
    return head_argument(len(pairs), 5) + b"".join(key + item for key, item in pairs)


def values() -> None:
    for group in ("values", "urls"):
        for vector in VECTORS[group]:
            write("values", bytes.fromhex(vector["hex"]))


def frames() -> None:
    for vector in VECTORS["frames"] + VECTORS["join-messages"]:
        frame = bytes.fromhex(vector["hex"])
        write("frames", frame[4:])
        write("frames", b"\x01" + frame)
    for vector in VECTORS["conversations"]:
        for side in ("caller", "host"):
            sent = b"".join(bytes.fromhex(step["hex"]) for step in vector["steps"] if step["from"] == side)
            write("frames", b"\x02" + sent)


def connections() -> None:
    for number, vector in enumerate(VECTORS["conversations"]):
        caller = [bytes.fromhex(step["hex"]) for step in vector["steps"] if step["from"] == "caller"]
        host = [bytes.fromhex(step["hex"]) for step in vector["steps"] if step["from"] == "host"]
        hello = caller[:1]
        write("handshake", script((0, 0), command(SECURE, 2), *(command(RAW, 0, sent) for sent in hello)))
        write("handshake", script((0, 2), command(SECURE, 2), *(command(RAW, 0, sent) for sent in host[:1])))
        write("host-connection", script((0x40, 0), *(command(RAW, 0, sent) for sent in caller)))
        # The variants of the settings, in turn.
        settings = (number % 4 | (number & 4) << 1 | 0x10, (number & 1) << 4, number % 4)
        rest = [command(FRAMED, 0, sent[4:]) for sent in caller[1:]]
        write("host-connection", script(settings, *rest, command(RESUME), command(TIME, 2)))
        calls = [command(CALL, 3, b"\0\x10") for _ in range(2)]
        answers = [command(FRAMED, 0, sent[4:]) for sent in host[1:]]
        settings = (number % 4 | 0x30, 0, number % 4)
        write("client-connection", script((0x40, 0), *calls, *(command(RAW, 0, sent) for sent in host)))
        write("client-connection", script(settings, *calls, *answers, command(END, number % 6), command(TIME, 5)))
    write("handshake", script((0, 0), command(SECURE, 0), command(RAW, 0, b"\0\0\0\1\0")))
    write("handshake", script((0, 0), command(FRAMED, 0, cbor([6, 1])), command(SECURE, 2)))
    for setting in (0x10, 0x18, 0x23, 0x35, 0x88):
        state = [
            command(FRAMED, 0, cbor([12, 0, {"topic": "notes", "schema": 1, "credit": 65536}])),
            command(COMMIT, 2, b"text"),
            command(COMMIT, 3, b"x" * 300),
            command(FRAMED, 0, cbor([12, 3, {"topic": "notes", "credit": 1000}])),
            command(WRITABLE, 1),
            command(FRAMED, 0, cbor([3, 1, 1000, {"wait": 1}])),
            command(FRAMED, 0, cbor([3, 2, 1000, {"size": 5000}, b"key", {"traceparent": "00"}])),
            command(FRAMED, 0, cbor([5, 1])),
            command(FRAMED, 0, cbor([6, 7])),
            command(WRITABLE, 0),
            command(RESUME, 0),
            command(FRAMED, 0, cbor([12, 5, {"topic": "notes"}])),
            command(FRAMED, 0, cbor([8, 0])),
        ]
        write("host-connection", script((setting, 0, setting & 3), *state))
        parts = [
            command(FOLLOW),
            command(FRAMED, 0, cbor([12, 1, {"topic": "notes", "epoch": 1, "to": 1, "put": {"note/1": {"text": "a"}}}])),
            command(FRAMED, 0, cbor([12, 2, {"topic": "notes", "epoch": 1, "from": 1, "to": 2, "drop": ["note/1"]}])),
            command(CALL, 1, b"\0\x20"),
            command(CALL, 2, b"\x0f\0"),
            command(FRAMED, 0, cbor([4, 1, 0, {}])),
            command(TIME, 3),
            command(FRAMED, 0, cbor([7, 1])),
            command(READ, 0),
            command(FRAMED, 0, cbor([12, 4, {"topic": "notes", "reason": "topic-closed"}])),
            command(END, 0),
            command(FRAMED, 0, cbor([8, 0])),
        ]
        write("client-connection", script((setting | 0x20, 0, setting & 3), *parts))


def streams() -> None:
    for vector in VECTORS["frames"]:
        frame = bytes.fromhex(vector["hex"])
        write("stream", script((0,), command(READ), command(RAW, 0, frame), command(FRAMED, 0, cbor([10]))))
    data = cbor([9, b"some bytes"])
    big = cbor([9, b"x" * 3000])
    ends = [command(END, 0), command(FRAMED, 0, cbor([10])), command(READ), command(FRAMED, 0, cbor([8, 0]))]
    for head in ((0,), (1,), (0x85,)):
        write("stream", script(head, command(READ), command(FRAMED, 0, data), command(CALL, 1, b"abc"), *ends))
        write("stream", script(head, *([command(FRAMED, 0, big)] * 4), *([command(READ)] * 6), *ends))
        write("stream", script(head, command(WRITABLE, 1), command(CALL, 255, b"x" * 99), command(TIME, 6)))
        write("stream", script(head, command(FRAMED, 0, big[:1000]), command(READ), command(PEER_END, 2)))
        write("stream", script(head, command(1, 0, data), command(FRAMED, 0, cbor([11, {"text": "no"}]))))


def state() -> None:
    for head in ((0, 0), (3, 1)):
        commit = [command(0, number, bytes([number, 200, 13])) for number in range(12)]
        flow = [command(kind, 3) for kind in (4, 2, 3, 5, 4, 2, 3, 3, 5)]
        write("published-state", script(head, *commit, *flow))
        write("published-state", script(head, *commit[:3], *flow, command(1, 1), *flow, command(6), *flow))
        write("published-state", script(head, *flow, command(7), *commit, *flow, command(11), *flow, command(12)))
        subscribe = cbor([12, 0, {"topic": "notes", "schema": 1, "credit": 65536, "epoch": 1, "after": 0}])
        part = cbor([12, 1, {"topic": "notes", "epoch": 1, "to": 9, "put": {"note/1": {"text": "a"}}}])
        further = cbor([12, 2, {"topic": "notes", "epoch": 1, "from": 9, "to": 10, "part": 1, "drop": ["note/1"]}])
        write("published-state", script(head, command(9, 0, subscribe), *flow, command(8, 0, part), command(5)))
        write("published-state", script(head, command(8, 0, part), command(8, 0, further), command(5), *flow))
        for vector in VECTORS["conversations"]:
            for step in vector["steps"]:
                frame = bytes.fromhex(step["hex"])
                if frame[5:6] == b"\x0c":
                    write("published-state", script(head, command(8, 0, frame[4:]), command(9, 0, frame[4:]), *flow))


def descriptions() -> None:
    records = {
        "system": {"DisplayName": "Living room", "Kind": "desktop", "Platform": 1, "Authority": True, "Model": "M"},
        "application": {"Id": "com.example.app", "DisplayName": "App", "Schemes": ["player"]},
        "attribute/volume": {"Value": "7"},
        "service/com.example.notes": {"Version": "1", "Summary": "Notes", "Remote": True},
        "request-schema/0/com.example.notes": {"Bytes": cbor({"fields": {"a": {"type": "string"}}})},
        "installed/com.example.other": {
            "DisplayName": "Other",
            "Attributes": {"a": "b"},
            "Services": {"com.example.s": {"Version": "2", "RequestSchema": {"base": "full"}}},
        },
        "running/com.example.third": {},
        "running/com.example.fourth": {"Number": 4, "Port": 4000, "Epoch": 5},
        "process/4/application": {"Id": "com.example.fourth", "DisplayName": "Fourth"},
        "process/4/attribute/a": {"Value": "b"},
        "process/4/service/x": {"Remote": False},
        "list/0": {"Bytes": b"\0" * 72},
    }
    write("description", cbor(records))
    for key in records:
        write("description", cbor({other: value for other, value in records.items() if other != key}))


def discovery() -> None:
    tag = bytes.fromhex(VECTORS["tags"][0]["hex"])
    for strings in ([b"v=1", b"t=" + tag], [b"V=1", b"v=2", b"a"], [b"=x", b"", b"k=" + b"v" * 200], [b"a=1"] * 80):
        write("txt-record", b"".join(bytes([len(string)]) + string for string in strings))
    for data in mdns_responses(tag):
        write("mdns", data)


def mdns_responses(tag: bytes) -> list[bytes]:
    def name(*labels: bytes) -> bytes:
        return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"

    service = (b"_remote-systems", b"_tcp", b"local")
    instance = (b"abcdefgh", *service)
    host = (b"host", b"local")

    def record(owner: bytes, kind: int, data: bytes) -> bytes:
        return owner + struct.pack(">HHIH", kind, 0x8001, 10, len(data)) + data

    text = b"".join(bytes([len(string)]) + string for string in (b"v=1", b"t=" + tag))
    records = [
        record(name(*service), 12, name(*instance)),
        record(name(*instance), 33, struct.pack(">HHH", 0, 0, 47474) + name(*host)),
        record(name(*instance), 16, text),
        record(name(*host), 1, bytes([192, 0, 2, 7])),
        record(name(*host), 28, bytes([0xFE, 0x80]) + bytes(13) + b"\1"),
    ]
    pointed = [
        record(b"\xc0\x0c", 12, name(b"abcdefgh")[:-1] + b"\xc0\x0c"),
        record(name(b"abcdefgh")[:-1] + b"\xc0\x0c", 16, text),
    ]

    def message(questions: list[bytes], answers: list[bytes], further: list[bytes]) -> bytes:
        head = struct.pack(">HHHHHH", 0x1234, 0x8400, len(questions), len(answers), 0, len(further))
        return head + b"".join(questions + answers + further)

    question = name(*service) + struct.pack(">HH", 255, 1)
    return [
        message([], records[:1], records[1:]),
        message([question], records, []),
        message([question], pointed + records[1:], []),
        message([], records * 4, []),
        message([], [], []),
        question,
    ]


def pairing() -> None:
    for vector in VECTORS["pair-messages"]:
        frame = bytes.fromhex(vector["hex"])[4:]
        write("pairing", script((0,), command(0, 0, frame), command(1, 0, frame)))
    # The low bit is the side that receives or answers; then 1 delivers, 2 answers, 3 lets time pass.
    genuine = [command(2), command(3), command(2), command(4), command(5), command(3), command(2)]
    write("pairing", script((0,), *genuine))
    for index in range(len(genuine)):
        steps = list(genuine)
        if genuine[index][0] in (2, 3):
            steps[index] = command(genuine[index][0], 0, bytes([0, 20, 1]))
            write("pairing", script((0,), *steps))
        write("pairing", script((0,), *genuine[:index], command(6, 31), *genuine[index:]))


def joining() -> None:
    for vector in VECTORS["join-messages"]:
        frame = bytes.fromhex(vector["hex"])[4:]
        write("join", script((0,), command(0, 0, frame), command(1, 0, frame)))
    for vector in VECTORS["joining"]:
        steps = [(0 if step["from"] == "joiner" else 1, bytes.fromhex(step["hex"])[4:]) for step in vector["steps"]]
        write("join", script((0,), *(command(kind, 0, frame) for kind, frame in steps)))
    genuine = [command(2), command(3), command(2), command(3)]
    changed = bytes([0, 20, 1])
    write("join", script((0,), *genuine))
    write("join", script((0,), *genuine, command(5), command(6), *genuine))
    for index in range(4):
        steps = list(genuine)
        steps[index] = command(2 + index % 2, 0, changed)
        write("join", script((0,), *steps))
        write("join", script((0,), *steps, command(5), command(6), *genuine))
        write("join", script((0,), *genuine[:index], command(4, 61), *genuine[index:]))
    wrong = [command(2), command(3), command(2, 0, changed), command(5), command(6)]
    write("join", script((0,), *wrong * 3, *genuine))


def texts() -> None:
    for vector in VECTORS["invitations"]:
        write("invitation", vector["text"].encode())
    account = VECTORS["account"]["id"]
    messages = [
        {"System": account, "Application": "com.example.app", "Addresses": [{"Host": "192.0.2.7", "Port": 47474}]},
        {"System": account, "Application": "com.example.app", "Addresses": []},
        {
            "System": account,
            "Application": "a",
            "Anonymous": True,
            "Addresses": [{"Host": "fe80::1%eth0", "Port": 1}, {"Host": "x", "Port": 0, "Transport": "memory"}],
        },
    ]
    for message in messages:
        write("token", b"remote-systems-connection:1:" + url_base64(cbor(message)))
    for vector in VECTORS["launch-uris"]:
        write("launch-uri", vector["text"].encode())
    for uri in ("https://user@example.com:80/a%20b?c#d", "mailto:a@example.com?attach=%2Fetc", "http://[::1]:80/"):
        write("launch-uri", uri.encode())
    for line in ("/usr/bin/app\n%u", "app\n--url=%U\n%i\n%c\n%k", "sh\n-c\napp %u", "app\n%%\n%f\n%x", "app\n%u\n%u"):
        for uri in ("https://example.com/a;b", ""):
            write("exec-line", f"{uri}\nicon\nName\n/file.desktop\n{line}".encode())


def url_base64(content: bytes) -> bytes:
    import base64

    return base64.urlsafe_b64encode(content).rstrip(b"=")


def trust() -> None:
    for vector in VECTORS["revocation-lists"]:
        content = bytes.fromhex(vector["hex"])
        write("revocation-list", b"\0" + content)
        write("revocation-list", b"\1" + content[:-64])
    write("revocation-list", b"\0" + bytes.fromhex(VECTORS["account"]["root-certificate"]))
    for vector in VECTORS["certificates"]:
        parts = [bytes.fromhex(vector["hex"])] + [bytes.fromhex(link) for link in vector.get("links", [])]
        write("certificate", b"".join(struct.pack(">H", len(part)) + part for part in parts))
        chain = bytes.fromhex(VECTORS["account"]["root-certificate"]) + b"".join(reversed(parts[1:]))
        write("revocation-list", b"\0" + chain)


def links() -> None:
    for vector in VECTORS["link-lists"]:
        content = bytes.fromhex(vector["hex"])
        write("links", b"\0" + content)
        write("links", b"\1" + content[:-64])
    for vector in VECTORS["link-withdrawals"]:
        write("links", b"\0" + bytes.fromhex(vector["hex"]))
    write("links", b"\1" + bytes(8))
    write("links", b"\1" + bytes(40))
    roots = bytes.fromhex(VECTORS["account"]["root-certificate"])
    granted: dict[str, object] = {"services": ["com.example.a"], "schemes": ["https"], "topics": ["presence"]}
    offer = {"roots": roots, "name": "Home", "granted": granted, "number": 1, "share": bytes(32)}
    write("links", b"\0" + cbor(offer))
    write("links", b"\0" + cbor(offer | {"granted": {}, "revocations": bytes(72)}))
    write("links", b"\0" + cbor({VECTORS["account"]["id"]: {"roots": roots}}))


def files() -> None:
    manifest = {
        "id": "com.example.player",
        "displayName": "Player",
        "attributes": {"room": "kitchen"},
        "schemes": ["player"],
        "requires": ["services.callers"],
        "start": {"exec": ["/usr/bin/player", "--service"]},
        "services": [
            {
                "name": "com.example.play",
                "supportsRemote": True,
                "callers": ["com.example.remote"],
                "version": "1",
                "summary": "Plays",
                "requestSchema": {
                    "base": "appService",
                    "furtherKeys": False,
                    "fields": {
                        "title": {"type": "string", "required": True},
                        "list": {"type": "array", "of": {"type": "dictionary", "fields": {}}},
                    },
                },
            }
        ],
    }
    write("manifest", json.dumps(manifest, indent=1).encode())
    for start in ({"dbus": "com.example.Player"}, {"systemd": "player.service"}, {"desktop": "a.example.desktop"}, {}):
        for key in ("services", "schemes", "attributes"):
            changed = {other: value for other, value in manifest.items() if other != key} | {"start": start}
            write("manifest", json.dumps(changed).encode())
    for text in ('{"id":"com.example.a","\\u0069d":"b","start":{"exec":["/a"]}}', "[" * 600, '{"id":"a","ide":1}', "{}"):
        write("manifest", text.encode())
    settings = {
        "port": 47474, "network": "eth0,wlan0", "stateDirectory": "/var/lib/a", "displayName": "Living room",
        "advertise": False, "startTimeout": 1.5, "logLevel": "debug", "uriPolicy": ["player=allow", "tel=ask", "*=deny"],
        "askProgram": ["/usr/bin/zenity", "--question", "--text"], "askTimeout": 30, "mediaPlayers": True,
        "documentRoots": ["music=/srv/music"], "notifyOffers": True, "notifications": False,
        "mirroredApplications": ["org.example.app", "*"], "snoozeMinutes": 10,
    }
    for key in settings:
        write("configuration", json.dumps({key: settings[key]}).encode())
    write("configuration", json.dumps(settings, indent=1).encode())
    write("configuration", b'{"port": 1, "port": 2, "prot": 3}')
    entry = {"host": "192.0.2.7", "port": 47474, "network": "0" * 16, "met": 1790000000}
    known = {"version": 1, "salt": "AAAAAAAAAAAAAAAAAAAAAA==", "systems": {VECTORS["account"]["id"]: [entry, entry]}}
    write("configuration", json.dumps(known).encode())
    known["systems"] = {VECTORS["account"]["id"]: [entry | {"met": -(1 << 63)}, entry | {"met": (1 << 63) - 1}]}
    write("configuration", json.dumps(known).encode())
    for text in ("[server]\nuse-ipv4=no\nallow-interfaces=eth0, eth1\n[publish]\ndisable-publishing=yes", "[fe80::1%eth0]:80"):
        write("configuration", text.encode())


def formats() -> None:
    entry = "[Thumbnailer Entry]\nTryExec=a\nExec=%s\nMimeType=video/mp4;Image/PNG;\n"
    for line in ("a -i %i -o %o -s %s -f", "sh -c 'a \"$1\" \"$2\"' - %u %o", "\"a b\" --in=%i --out=%o %%", "sh -c %i %o"):
        write("format", (entry % line).encode())
    place = {"family": "inet", "table": "filter"}
    chains = [
        {"chain": place | {"name": "input", "type": "filter", "hook": "input", "policy": "drop", "prio": 0}},
        {"chain": place | {"name": "more"}},
        {"set": place | {"name": "open", "type": "inet_service", "elem": [22, {"range": [5000, 6000]}]}},
    ]

    def match(left: dict, right: object) -> dict:
        return {"match": {"op": "==", "left": left, "right": right}}

    port = {"payload": {"protocol": "udp", "field": "dport"}}
    for expression in (
        [match(port, 5353), {"accept": None}], [match(port, "@open"), {"drop": None}], [{"jump": {"target": "more"}}],
        [match({"meta": {"key": "iifname"}}, {"set": ["eth*"]}), {"reject": {"type": "icmp"}}],
        [match({"payload": {"protocol": "ip", "field": "daddr"}}, {"prefix": {"addr": "224.0.0.0", "len": 4}})],
        [{"vmap": {"key": port, "data": {"set": [[5353, {"goto": {"target": "more"}}]]}}}], [{"limit": {"rate": 10}}],
    ):
        for chain in ("input", "more"):
            rule = {"rule": place | {"chain": chain, "handle": 7, "expr": expression}}
            write("format", json.dumps({"nftables": chains + [rule]}).encode())
    write("format", b"*filter\n:INPUT DROP [0:0]\n-A INPUT -p tcp -m tcp --dport 1:99 -j ACCEPT\nCOMMIT\n")
    write(
        "format",
        b"*filter\n:INPUT ACCEPT [0:0]\n:ufw-in - [0:0]\n-A INPUT ! -i lo+ -m addrtype --dst-type MULTICAST -g ufw-in\n"
        b'-A ufw-in -d 224.0.0.251/32 -m comment --comment "a b" -m conntrack --ctstate NEW -j DROP\nCOMMIT\n',
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    image = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    jpeg = b"\xff\xd8\xff\xe0\0\4ab\xff\xff\xdb\0\2\xff\xc0\0\x0b\x08\1\0\2\0\1\1\x11\0"
    for start in (
        image, jpeg, b"GIF89a\1\0\2\0", b"FORM....AIFF", b"RIFF....WAVEfmt ", b"RIFF....AVI LIST", b"ID3\3",
        b"\xff\xfb\x90\x64", b"\0\0\0 ftypM4A ", b"\0\0\0 ftypisom", b"\0\0\1\xba\x44",
    ):
        write("format", start)
    sealed = bytes([1, 17, 8, 1]) + bytes(range(16 + 12 + 40 + 16))
    write("format", sealed)
    whole = base64.encodebytes(sealed + hashlib.sha256(sealed).digest()[:8]).replace(b"\n", b"")
    lines = b"\n".join(whole[start:start + 64] for start in range(0, len(whole), 64))
    armour = b"-----%s REMOTE SYSTEMS RECOVERY-----\n"
    write("format", armour % b"BEGIN" + lines + b"\n" + armour % b"END")
    account = {
        "rootKey": "AAEC", "rootCertificate": "AwQ=", "discoveryKey": "BQ==", "revocations": ["Bg=="], "links": "Bw==",
        "joined": [VECTORS["account"]["id"]], "created": 790000000.25,
    }
    write("format", json.dumps(account).encode())


def messages() -> None:
    for message in (
        {"type": "page", "url": "https://me:secret@example.com/a?b#c", "title": "A page", "incognito": False},
        {"type": "leave"}, {"type": "continue", "id": "x"}, {"type": "opened", "number": 3, "failure": "\x1b[2JNo."},
    ):
        encoded = json.dumps(message).encode()
        write("message", encoded)
        write("message", struct.pack("<I", len(encoded)) + encoded)
    requests = [{"Number": 1}, {}, {"Text": "a", "Data": b"\0"}]
    write("message", b"".join(struct.pack(">I", len(cbor(request))) + cbor(request) for request in requests))
    elements = [
        {"Type": "Text", "Text": "Summer party", "Style": "heading"}, {"Type": "Progress", "Label": "a"},
        {"Type": "Image", "Attachment": "map", "Description": "Where"},
        {"Type": "Button", "Id": "b", "Title": "OK", "Destructive": True},
        {"Type": "Slider", "Id": "s", "Value": 2, "Min": 1, "Max": 8, "Step": 1},
        {"Type": "Switch", "Id": "w", "On": True},
        {"Type": "TextField", "Id": "t", "Placeholder": "words", "Text": "a", "FocusOnAction": "accept"},
    ]
    card = {"Title": "a", "Elements": elements, "PreferredSize": {"Width": 300, "Height": 200}, "Interactive": False}
    action = {"Id": "a", "Title": "A", "Destructive": True, "Placeholder": "p", "ButtonTitle": "Send", "Options": 1}
    opened = {"Title": "t", "Sender": "s", "InitialRatio": 0.5, "Actions": [action], "Images": {"map": "/a.png"}}
    for message in (
        card, {"Card": card}, {"Open": opened}, {"Actions": [action]}, {"Busy": True}, {"Close": True}, {"Closed": True},
        {"Action": "a", "Text": "t", "Values": {"s": 2, "w": True}}, {"Changed": "s", "Values": {"s": 0.5}},
        {"Option": "dismiss"}, {"PerformDefaultAction": True}, {"Response": {"Action": "a", "Text": "t", "Values": {}}},
        {"Change": {"Id": "s", "Values": {"s": 2}}}, {"Notification": {"Id": "1", "Content": {"Title": "t"}}},
    ):
        write("message", json.dumps(message).encode())

    # Dictionaries of the session bus, in GVariant's form on a little-endian machine: entries of a key and a variant,
    # which begin at multiples of 8, and after the last the offset of each end.
    def entry(key: bytes, value: bytes, kind: bytes) -> bytes:
        text = key + b"\0"
        return text + bytes(-len(text) % 8) + value + b"\0" + kind + bytes([len(text)])

    for values in (
        [(b"a", b"\1", b"b")], [(b"n", struct.pack("<q", -5), b"x"), (b"text", b"b\0", b"s")], [(b"$$x", b"\1\2", b"ay")],
        [(b"d", struct.pack("<d", 1.5), b"d")], [(b"u", struct.pack("<II", 1, 2), b"au")], [],
    ):
        content = b""
        ends = []
        for key, value, kind in values:
            content += bytes(-len(content) % 8) + entry(key, value, kind)
            ends.append(len(content))
        write("message", content + bytes(ends))


# Association files that openssl has signed, without and with signed attributes.
SIGNED = (
    "MIICqgYJKoZIhvcNAQcCoIICmzCCApcCAQExDzANBglghkgBZQMEAgEFADBNBgkqhkiG9w0BBwGgQAQ+eyJhY3Rpdml0eWNvbnRpbnVhdGlvbi"
    "I6IHsiYXBwcyI6IFsiS0VZLmNvbS5leGFtcGxlLnJlYWRlciJdfX2gggGWMIIBkjCCATmgAwIBAgIUQhJ2DTP4Nu9d0ZYaeth/mPvz6kMwCgYI"
    "KoZIzj0EAwIwFDESMBAGA1UEAwwJYS5leGFtcGxlMB4XDTI2MTEyNTAyNTgyM1oXDTM2MTEyMjAyNTgyM1owFDESMBAGA1UEAwwJYS5leGFtcG"
    "xlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE3LF7fWWpBNH/VlmsJhbJS7WnMX1QMkTnyHrrFP033wK0t08q6wgCBWjnlht/YDjwSN3nxDxy"
    "fPoWO+jGYMVZIKNpMGcwHQYDVR0OBBYEFLWtKORpVj71OjHUCtzuok0MKoYSMB8GA1UdIwQYMBaAFLWtKORpVj71OjHUCtzuok0MKoYSMA8GA1"
    "UdEwEB/wQFMAMBAf8wFAYDVR0RBA0wC4IJYS5leGFtcGxlMAoGCCqGSM49BAMCA0cAMEQCIH473wU/nFgDVBR8yQQMncGcejKrDojiUoNDRDa2"
    "uew6AiBllbvxo/Vjb/9dgqunl0xFnXzApQOM/cUBcIE5JMifIzGBlzCBlAIBATAsMBQxEjAQBgNVBAMMCWEuZXhhbXBsZQIUQhJ2DTP4Nu9d0Z"
    "Yaeth/mPvz6kMwDQYJYIZIAWUDBAIBBQAwCgYIKoZIzj0EAwIERjBEAiB7jTdOx6Ttb+iqzP6k/fJsCgzLPqYeMLe/TVUuoxHrxgIgQ4V69aGV"
    "hvesRXyDVqAEdA/ZVwDUjIviea0QERm56Lo="
)
SIGNED_WITH_ATTRIBUTES = (
    "MIIDkwYJKoZIhvcNAQcCoIIDhDCCA4ACAQExDzANBglghkgBZQMEAgEFADBNBgkqhkiG9w0BBwGgQAQ+eyJhY3Rpdml0eWNvbnRpbnVhdGlvbi"
    "I6IHsiYXBwcyI6IFsiS0VZLmNvbS5leGFtcGxlLnJlYWRlciJdfX2gggGWMIIBkjCCATmgAwIBAgIUQhJ2DTP4Nu9d0ZYaeth/mPvz6kMwCgYI"
    "KoZIzj0EAwIwFDESMBAGA1UEAwwJYS5leGFtcGxlMB4XDTI2MTEyNTAyNTgyM1oXDTM2MTEyMjAyNTgyM1owFDESMBAGA1UEAwwJYS5leGFtcG"
    "xlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE3LF7fWWpBNH/VlmsJhbJS7WnMX1QMkTnyHrrFP033wK0t08q6wgCBWjnlht/YDjwSN3nxDxy"
    "fPoWO+jGYMVZIKNpMGcwHQYDVR0OBBYEFLWtKORpVj71OjHUCtzuok0MKoYSMB8GA1UdIwQYMBaAFLWtKORpVj71OjHUCtzuok0MKoYSMA8GA1"
    "UdEwEB/wQFMAMBAf8wFAYDVR0RBA0wC4IJYS5leGFtcGxlMAoGCCqGSM49BAMCA0cAMEQCIH473wU/nFgDVBR8yQQMncGcejKrDojiUoNDRDa2"
    "uew6AiBllbvxo/Vjb/9dgqunl0xFnXzApQOM/cUBcIE5JMifIzGCAX8wggF7AgEBMCwwFDESMBAGA1UEAwwJYS5leGFtcGxlAhRCEnYNM/g271"
    "3Rlhp62H+Y+/PqQzANBglghkgBZQMEAgEFAKCB5DAYBgkqhkiG9w0BCQMxCwYJKoZIhvcNAQcBMBwGCSqGSIb3DQEJBTEPFw0yNjExMjUwMjU4"
    "MjNaMC8GCSqGSIb3DQEJBDEiBCA1H8BuYm0MwwYHR+uv8O1nwWrBIm6kW0IDkHG2yuCKCTB5BgkqhkiG9w0BCQ8xbDBqMAsGCWCGSAFlAwQBKj"
    "ALBglghkgBZQMEARYwCwYJYIZIAWUDBAECMAoGCCqGSIb3DQMHMA4GCCqGSIb3DQMCAgIAgDANBggqhkiG9w0DAgIBQDAHBgUrDgMCBzANBggq"
    "hkiG9w0DAgIBKDAKBggqhkjOPQQDAgRGMEQCIBkftJi+hzkUWeRBJ7LdaOaNgSk9jIk7Qmorc3yHYrr1AiA943OB7H21XwClYJKwrMUjyEQ+2o"
    "8uBvp32ttoYsV6SQ=="
)


def associations() -> None:
    apps = {"apps": ["KEY.com.example.reader", "KEY2.com.example.writer"]}
    for content in (
        {"activitycontinuation": apps}, {"activitycontinuation": {"apps": []}}, {"applinks": apps},
        {"applinks": {"details": [{"appIDs": ["KEY.a"], "components": [{"/": "/a/*"}]}]}, "activitycontinuation": apps},
        {"activitycontinuation": {"apps": [1]}}, {"activitycontinuation": {"apps": ["*"]}},
    ):
        write("association", json.dumps(content).encode())
    write("association", b'{"activitycontinuation": {"apps": []}, "activitycontinuation": {"apps": ["KEY.a"]}}')
    write("association", b'{"a": ' + b"[" * 17 + b"]" * 17 + b"}")
    for signed in (SIGNED, SIGNED_WITH_ATTRIBUTES):
        write("association", base64.b64decode(signed))


def contents() -> None:
    for group in ("activity-descriptors", "activity-payloads"):
        for vector in VECTORS[group]:
            write("activity", bytes.fromhex(vector["hex"]))
    uuid = bytes.fromhex("d8255000112233445566778899aabbccddeeff")
    write("activity", b"\xa2" + cbor("Request") + cbor("fetch") + cbor("Activity") + uuid)
    for request in ("confirm", "return", "stream"):
        write("activity", b"\xa2" + cbor("Request") + cbor(request) + cbor("Continuation") + uuid)
    for vector in VECTORS["activity-payloads"]:
        payload = bytes.fromhex(vector["hex"])
        write("activity", b"\xa2" + cbor("Payload") + payload + cbor("Request") + cbor("webpage"))
    for group in ("notifications", "notification-states"):
        for vector in VECTORS[group]:
            write("notification", bytes.fromhex(vector["hex"]))
    for vector in VECTORS["notification-state-keys"]:
        write("notification", vector["json"]["key"].encode())
    alert = {"title-loc-key": "%1$@ of %2$@", "title-loc-args": ["Build", "server"], "body": "<b>1284</b>\n– a on b"}
    aps = {"alert": alert, "badge": 1, "sound": {"name": "default", "critical": 1}, "thread-id": "a", "category": "c"}
    for payload in ({"aps": {"alert": "Deploy?"}, "build": 7}, {"aps": aps}, {"aps": {"content-available": 1}}, {"aps": 1}):
        write("notification", json.dumps(payload, ensure_ascii=False).encode())


def dictionary(name: str, words: set[bytes]) -> None:
    folder = HERE / "Dictionaries"
    folder.mkdir(exist_ok=True)
    lines = ['"' + "".join(f"\\x{byte:02x}" for byte in word) + '"' for word in sorted(words)]
    (folder / f"{name}.dict").write_text("\n".join(lines) + "\n")


def strings(value: object) -> set[str]:
    """The short strings and keys in JSON."""
    found: set[str] = set()
    if isinstance(value, str) and 0 < len(value) <= 32:
        found.add(value)
    elif isinstance(value, list):
        for item in value:
            found |= strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            found |= strings(key) | strings(item)
    return found


def dictionaries() -> None:
    names: set[str] = set()
    for group in ("frames", "join-messages", "pair-messages", "conversations"):
        for vector in VECTORS[group]:
            documents = [vector.get("json")] + [step.get("json") for step in vector.get("steps", [])]
            names |= strings(documents)
    names = {name for name in names if not name.startswith("$")} | {"topic", "notes", "epoch", "put", "drop", "note/1"}
    heads = {bytes([0x80 | count, kind]) for count in range(1, 7) for kind in range(13)}
    numbers = {cbor(number) for number in (23, 24, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**63 - 1, 2**64 - 1)}
    dictionary("cbor", {cbor(name) for name in names} | heads | numbers | {b"\xf4", b"\xf5", b"\xf6", b"\xa0", b"\x80"})
    invitation = {"v=1", "account=", "address=", "expires=", "secret=", "remote-systems://join?", "&", "%25", "[", "]:"}
    token = {"remote-systems-connection:1:", "https://", "mailto:", "?attach=", "%00", "%u", "%U", "-c", "sh", "\n"}
    dictionary("text", {word.encode() for word in invitation | token | {"v=1", "t=", "a=1", VECTORS["account"]["id"]}})
    dictionary("mdns", {b"\xc0\x0c", b"\x0f_remote-systems", b"\x04_tcp", b"\x05local", b"\0\x0c\x80\1", b"\0\x21\0\1"})
    keys = {
        "id", "displayName", "attributes", "services", "schemes", "start", "requires", "name", "supportsRemote", "callers",
        "version", "summary", "requestSchema", "responseSchema", "dbus", "systemd", "exec", "desktop", "base", "fields",
        "furtherKeys", "of", "required", "type", "port", "salt", "systems", "host", "network", "met", "stateDirectory",
        "advertise", "startTimeout", "logLevel", "uriPolicy", "askProgram", "askTimeout", "mediaPlayers", "documentRoots",
        "notifyOffers", "notifications", "mirroredApplications", "snoozeMinutes",
    }
    words = {f'"{key}":'.encode() for key in keys} | {b"\\u0069", b"true", b"null", b"1e400", b"[[", b"}}", b'{"'}
    dictionary("manifest", words)
    fields = {
        "Type", "Title", "UserInfo", "Webpage", "Referrer", "Streams", "Keywords", "Required", "Target", "Identifier",
        "Version", "Stale", "Expires", "Lifetime", "Request", "Activity", "Continuation", "Payload", "Part", "Voucher",
        "System", "Application", "Token", "fetch", "confirm", "return", "stream", "receive", "webpage", "Id", "Content",
        "Category", "Name", "ExpiresIn", "OneWay", "Delivery", "Shared", "Mutable", "ContentAvailable", "ForApplication", "Subtitle",
        "Body", "Sound", "Badge", "Thread", "Level", "Relevance", "Filter", "Attachments", "Digest", "Size", "Hidden",
        "Actions", "Options", "Text", "Button", "Placeholder", "Intents", "HiddenBody", "Summary", "Status", "Date",
        "Read", "Until", "waiting", "withdrawn", "dismissed", "activated", "aps", "alert", "image/png", "audio/wav",
    }
    texts = {"\x1b[2J", "\u202e", "\u2028", "<b>", "&amp;", "\n– a on b", "https://a:b@c", "file:///etc", "doc-root:a/.."}
    payload = {"aps", "alert", "title", "body", "loc-key", "loc-args", "badge", "sound", "category", "thread-id"}
    keys = {f'"{key}":'.encode() for key in payload}
    dictionary("content", {cbor(text) for text in fields | texts} | keys | numbers | {b"%1$@", b"\xd8\x25\x50", b"\xd8\x20"})
    keys = {
        "nftables", "rule", "chain", "expr", "set", "elem", "match", "op", "left", "right", "family", "table", "name",
        "policy", "hook", "prio", "handle", "payload", "meta", "jump", "goto", "accept", "drop", "return", "vmap", "rootKey",
        "rootCertificate", "discoveryKey", "revocations", "joined", "created",
    }
    words = {"[Thumbnailer Entry]", "Exec=", "TryExec=", "MimeType=", "%i", "%o", "%u", "%s", "-A INPUT ", "-j DROP", "@open"}
    kinds = {b"\x89PNG\r\n\x1a\n", b"IHDR", b"IEND", b"\xff\xd8\xff", b"\xff\xc0", b"GIF89a", b"RIFF", b"WAVE", b"ftyp"}
    lines = {"-----BEGIN REMOTE SYSTEMS RECOVERY-----\n", "-----END REMOTE SYSTEMS RECOVERY-----\n", "*filter\n", ":INPUT DROP"}
    dictionary("format", {f'"{key}":'.encode() for key in keys} | {word.encode() for word in words | lines} | kinds)
    keys = {
        "type", "url", "title", "incognito", "id", "number", "failure", "Card", "Open", "Actions", "Busy", "Close", "Closed",
        "Action", "Changed", "Text", "Values", "Option", "PerformDefaultAction", "Response", "Change", "Notification",
        "Elements", "Type", "Title", "PreferredSize", "Width", "Height", "Interactive", "Style", "Attachment", "Fraction",
        "Label", "Id", "Destructive", "Value", "Min", "Max", "Step", "On", "Placeholder", "FocusOnAction", "Images",
    }
    texts = {"page", "leave", "continue", "opened", "Text", "Image", "Progress", "Button", "Slider", "Switch", "TextField"}
    tags = {b"$null\0", b"$date\0", b"$uuid\0", b"$url\0", b"$set\0", b"\0a{sv}", b"\0av", b"\0ay", b"\0(sx)", b"\0v"}
    words = {f'"{key}":'.encode() for key in keys} | {f'"{text}"'.encode() for text in texts} | tags
    dictionary("message", words | {cbor(key) for key in keys} | {b"\\u001b", b'{"$double":"nan"}'})


if __name__ == "__main__":
    for make in (
        values, frames, connections, streams, state, descriptions, discovery, joining, pairing, texts, trust, links, files,
        formats, messages, associations, contents, dictionaries,
    ):
        make()
