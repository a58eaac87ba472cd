# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Checks the vectors of the wire protocol with independent tools: a CBOR library and a CDDL validator.

wire_vectors.py check FILE           cbor2 must encode a vector's meaning to the same bytes, and decode them to the same meaning
wire_vectors.py cddl FILE GRAMMAR    all sent messages must fit the grammar; excluded ones must not
wire_vectors.py fill FILE            adds the bytes to vectors that have none yet

Prints a line for each vector that fails, or "all right", which distinguishes a run without failures from a crashed one.
"""
import base64
import datetime
import json
import math
import sys
import uuid

import cbor2

# The grammar's rule for the bytes of each list, and the lists whose bytes begin with a length field.
RULES = {"frames": "frame", "values": "value", "urls": "value", "join-messages": "join-message",
         "pair-messages": "pair-message"}
FRAMED = {"frames", "join-messages", "pair-messages"}
DOUBLES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}


def encode(value):
    return cbor2.dumps(value, canonical=True)


def seconds(number):
    whole = float(number).is_integer() and abs(number) <= 2**53
    return int(number) if whole else float(number)


def tagged(tag, content):
    if tag == "$date":
        return cbor2.CBORTag(1, seconds(content))
    if tag == "$uuid":
        return cbor2.CBORTag(37, uuid.UUID(content).bytes)
    if tag == "$data":
        return base64.b64decode(content, validate=True)
    if tag == "$url":
        return cbor2.CBORTag(32, content)
    if tag == "$set":
        return cbor2.CBORTag(258, sorted((meaning(element) for element in content), key=encode))
    if tag == "$double":
        return DOUBLES[content] if isinstance(content, str) else float(content)
    raise ValueError(f"unknown tag {tag}")


def meaning(value):
    """The meaning of a vector's JSON."""
    if isinstance(value, list):
        return [meaning(element) for element in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, content),) = value.items()
        if key.startswith("$") and not key.startswith("$$"):
            return tagged(key, content)
    return {key[1:] if key.startswith("$$") else key: meaning(content) for key, content in value.items()}


def frame(body):
    return len(body).to_bytes(4, "big") + body


def body(data):
    assert int.from_bytes(data[:4], "big") == len(data) - 4, "the length field is wrong"
    return data[4:]


def sent(vector):
    return "refused" not in vector and vector.get("encodes", True)


def beyond_python(vector):
    """Dates outside the years 1 to 9999, which cbor2 writes but does not read."""
    value = vector["json"]
    return isinstance(value, dict) and abs(value.get("$date", 0)) > 2.5e11


def check(vectors):
    for kind in ("frames", "values"):
        for vector in vectors[kind]:
            if "refused" in vector:
                continue
            data = bytes.fromhex(vector["hex"])
            payload = body(data) if kind == "frames" else data
            own = encode(meaning(vector["json"]))
            if sent(vector) and own != payload:
                yield vector, f"cbor2 encodes {own.hex()}"
            if beyond_python(vector):
                continue
            try:
                # Converted twice, so that NaN equals NaN and sets are compared as sets.
                read = cbor2.loads(payload)
                if sent(vector) and repr(read) != repr(cbor2.loads(own)):
                    yield vector, f"cbor2 reads {read!r}"
            except Exception as error:  # the test reports every error
                yield vector, f"{type(error).__name__}: {error}"


def check_more(vectors):
    """Checks the vectors with keys, texts and conversations with client.py."""
    import client
    from referee import judge

    account = vectors["account"]
    root = client.Roots(bytes.fromhex(account["root-certificate"]))

    def moment(seconds):
        return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)

    def certificate(vector):
        read = client.Certificate(bytes.fromhex(vector["hex"]))
        return {"system": read.system_id(root, account["id"], moment(vector.get("now", account["now"])),
                                         vector.get("revoked", ()), vector.get("anonymous", False), links(vector))}

    def links(vector):
        return [bytes.fromhex(link) for link in vector.get("links", [])]

    def tag(vector):
        tag = client.discovery_tag(bytes.fromhex(vector["key"]), vector["instance"])
        if tag.hex() != vector["hex"]:
            raise client.Broken("another tag")

    def revocation_list(vector):
        number, systems = client.read_revocation_list(bytes.fromhex(vector["hex"]), root.extended(links(vector)),
                                                      moment(account["now"]))
        return {"number": number, "systems": systems}

    def discovery_key(vector):
        number, key = client.read_discovery_key(bytes.fromhex(vector["hex"]), root.extended(links(vector)),
                                                moment(account["now"]))
        return {"number": number, "key": key.hex()}

    def invitation(vector):
        read = client.Invitation.read(vector["text"])
        return {"account": read.account, "addresses": [{"host": host, "port": port} for host, port in read.addresses],
                "expires": read.expires, "secret": client.base32(read.secret)}

    def join_message(vector):
        kind, parts = client.read_join_message(body(bytes.fromhex(vector["hex"])))
        return [kind, {name: {"$data": base64.b64encode(part).decode()} if isinstance(part, bytes) else part
                       for name, part in parts.items()}]

    readers = {
        "urls": lambda vector: {"$url": client.decode(bytes.fromhex(vector["hex"])).value},
        "launch-uris": lambda vector: {"scheme": client.launch_scheme(vector["text"])},
        "certificates": certificate, "tags": tag, "revocation-lists": revocation_list,
        "discovery-keys": discovery_key, "invitations": invitation,
        "join-messages": join_message,
    }
    for kind, read in readers.items():
        for vector in vectors[kind]:
            code = None
            try:
                found = read(vector)
            except client.Broken as broken:
                found, code = None, broken.code
            if (found is None and kind != "tags" or code is not None) != ("refused" in vector) and kind != "tags":
                yield vector, f"read as {found}, {code}"
            elif kind != "tags" and found != vector.get("json"):
                yield vector, f"read as {found}"
            elif "code" in vector and kind not in ("urls", "launch-uris") and code != vector["code"]:
                yield vector, f"refused with {code}"
    for vector in vectors["tags"]:
        try:
            tag(vector)
            if "refused" in vector:
                yield vector, "taken"
        except client.Broken as broken:
            if "refused" not in vector:
                yield vector, str(broken)
    for vector in vectors["conversations"]:
        try:
            found = judge(vector["steps"])
        except client.Broken as broken:
            yield vector, f"{broken} ({broken.code})"
            continue
        if found != vector["outcome"]:
            yield vector, f"ends with {found}"
    keys = {key["name"]: key for key in vectors["keys"]}
    for vector in vectors["joining"]:
        problem = client.replay_joining(vector, keys, moment)
        if problem:
            yield vector, problem


def cddl(vectors, grammar):
    from cddl_verifier import validate

    for kind, rule in RULES.items():
        for vector in vectors[kind]:
            if not sent(vector) and not vector.get("grammar", False):
                continue
            # The validator tries every rule on every level of dictionaries, which takes 2 to the power of 32 steps.
            if vector["name"] == "32 levels of dictionaries":
                continue
            data = bytes.fromhex(vector["hex"])
            fits = validate(grammar, body(data) if kind in FRAMED else data, root_type=rule).valid
            if fits != sent(vector):
                yield vector, "the grammar says otherwise"


# The order of the keys in the file. Keys that are not named here follow.
ORDER = ("name", "section", "now", "invitation", "joiner", "inviter", "key", "instance", "text", "hex", "json", "refused", "code",
         "encodes", "grammar", "outcome", "steps")


def fill(path, vectors):
    for kind in ("frames", "values"):
        for vector in vectors[kind]:
            if "hex" not in vector:
                data = encode(meaning(vector["json"]))
                vector["hex"] = (frame(data) if kind == "frames" else data).hex()
    write(path, vectors)


def write(path, lists):
    """Writes the file: one line for each entry, and for each step of a conversation."""
    def line(entry, *without):
        keys = [*(key for key in ORDER if key in entry), *(key for key in entry if key not in ORDER)]
        return json.dumps({key: entry[key] for key in keys if key not in without}, ensure_ascii=False)

    def written(entry):
        if not isinstance(entry, dict) or "steps" not in entry:
            return line(entry)
        steps = ",\n".join("  " + json.dumps(step, ensure_ascii=False) for step in entry["steps"])
        return f'{line(entry, "steps")[:-1]}, "steps": [\n{steps}\n]}}'

    parts = []
    for name, content in lists.items():
        if isinstance(content, list):
            text = "[\n" + ",\n".join(map(written, content)) + "\n]"
        else:
            text = json.dumps(content, ensure_ascii=False)
        parts.append(f'"{name}": {text}')
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(parts) + "\n}\n")


def main(command, path, *more):
    with open(path, encoding="utf-8") as file:
        vectors = json.load(file)
    if command == "fill":
        fill(path, vectors)
        return 0
    if command == "check":
        problems = [*check(vectors), *check_more(vectors)]
    else:
        with open(more[0], encoding="utf-8") as file:
            problems = list(cddl(vectors, file.read()))
    for vector, problem in problems:
        print(f"{vector['name']}: {problem}")
    if not problems:
        print("all right")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
