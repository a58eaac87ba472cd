# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Checks the coding of ValueSets with an independent CBOR library (IndependentCodingTests runs this).

cbor2_check.py check             reads hexadecimal encodings, a line each; prints "same" if cbor2 decodes one and its own
                                 canonical encoding of the result is the same, otherwise the difference
cbor2_check.py generate SEED N   prints N canonical encodings of values that cbor2 encoded

The generated values leave out what cbor2 cannot express: dates outside the years 1 to 9999 or finer than a
microsecond; sets of elements of several types (cbor2 orders elements by length before it compares their bytes, and Python
treats 1, 1.0 and True as one element).
"""
import datetime
import random
import struct
import sys
import uuid

import cbor2

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)


def encode(value):
    return cbor2.dumps(value, canonical=True, datetime_as_timestamp=True)


def check():
    for line in sys.stdin:
        sent = bytes.fromhex(line.strip())
        try:
            own = encode(cbor2.loads(sent))
        except Exception as error:  # the test reports every error
            print(f"{type(error).__name__}: {error}")
            continue
        print("same" if own == sent else f"cbor2 encodes {own.hex()}")


def generate(seed, count):
    chance = random.Random(seed)
    alphabet = "abc xyz0189_$.éß水𐅑\u0301\n\""

    def text():
        return "".join(chance.choice(alphabet) for _ in range(chance.choice([0, 1, 2, 5, 12, 30, 300])))

    def integer():
        return chance.choice([
            chance.randrange(-30, 30), chance.randrange(-70_000, 70_000), chance.randrange(-2**33, 2**33),
            chance.randrange(-2**63, 2**64), -2**63, 2**63 - 1, 2**63, 2**64 - 1,
        ])

    def double():
        return chance.choice([
            chance.randrange(-5000, 5000) / 32, struct.unpack(">d", chance.randbytes(8))[0],
            struct.unpack(">f", chance.randbytes(4))[0], struct.unpack(">e", chance.randbytes(2))[0],
            0.0, -0.0, float("inf"), float("-inf"), float("nan"),
        ])

    def date():
        return EPOCH + datetime.timedelta(
            seconds=chance.randrange(-60_000_000_000, 250_000_000_000), microseconds=chance.choice([0, 500_000, 1, 999_999, 123_456]))

    def value(depth):
        kind = chance.randrange(13 if depth else 10)
        if kind == 0: return None
        if kind == 1: return chance.random() < 0.5
        if kind in (2, 3): return integer()
        if kind in (4, 5): return double()
        if kind == 6: return text()
        if kind == 7: return chance.randbytes(chance.randrange(40))
        if kind == 8: return date()
        if kind == 9:
            return chance.choice([
                uuid.UUID(bytes=chance.randbytes(16)), cbor2.CBORTag(32, f"https://example.com/{chance.randrange(99)}?q=%20"),
            ])
        if kind == 10: return [value(depth - 1) for _ in range(chance.randrange(6))]
        if kind == 11: return {text() for _ in range(chance.randrange(6))}
        return {text(): value(depth - 1) for _ in range(chance.randrange(8))}

    for _ in range(count):
        print(encode(value(4)).hex())


if sys.argv[1] == "check":
    check()
else:
    generate(int(sys.argv[2]), int(sys.argv[3]))
