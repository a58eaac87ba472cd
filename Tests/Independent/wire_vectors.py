# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""The vectors of the wire protocol as parties see them that are not ours: a CBOR library and a CDDL validator.

wire_vectors.py check FILE           cbor2 must make the same bytes of what a vector means, and read them as the same
wire_vectors.py cddl FILE GRAMMAR    what senders send must fit the grammar; what no grammar allows must not
wire_vectors.py fill FILE            adds the bytes to vectors that have none yet

Prints a line for each vector that fails, or "all right", which tells a run without failures from a run that broke.
"""
import base64
import json
import math
import sys
import uuid

import cbor2

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
    """What a vector's JSON stands for."""
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
                # Twice through the library, so that NaN equals NaN and sets are compared as sets.
                read = cbor2.loads(payload)
                if sent(vector) and repr(read) != repr(cbor2.loads(own)):
                    yield vector, f"cbor2 reads {read!r}"
            except Exception as error:  # whatever it is, the test must show it
                yield vector, f"{type(error).__name__}: {error}"


def cddl(vectors, grammar):
    from cddl_verifier import validate

    for kind, rule in (("frames", "frame"), ("values", "value")):
        for vector in vectors[kind]:
            if not sent(vector) and not vector.get("grammar", False):
                continue
            data = bytes.fromhex(vector["hex"])
            fits = validate(grammar, body(data) if kind == "frames" else data, root_type=rule).valid
            if fits != sent(vector):
                yield vector, "the grammar says otherwise"


def fill(path, vectors):
    for kind in ("frames", "values"):
        for vector in vectors[kind]:
            if "hex" not in vector:
                data = encode(meaning(vector["json"]))
                vector["hex"] = (frame(data) if kind == "frames" else data).hex()
    order = ("name", "hex", "json", "refused", "encodes", "grammar")
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n")
        for number, kind in enumerate(("frames", "values")):
            lines = (json.dumps({key: vector[key] for key in order if key in vector}, ensure_ascii=False)
                     for vector in vectors[kind])
            file.write(f'"{kind}": [\n' + ",\n".join(lines) + ("\n],\n" if number == 0 else "\n]\n"))
        file.write("}\n")


def main(command, path, *more):
    with open(path, encoding="utf-8") as file:
        vectors = json.load(file)
    if command == "fill":
        fill(path, vectors)
        return 0
    if command == "check":
        problems = list(check(vectors))
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
