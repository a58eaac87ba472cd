# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Makes the vectors of Docs/wire-vectors.json that need keys, and those of texts and conversations, from
Docs/wire-protocol.md alone.

make_wire_vectors.py write FILE    rewrites the file; its hand-written parts (frames and values) stay unchanged
make_wire_vectors.py check FILE    prints each list that `write` would change, or "all right"

The private keys are derived from their names, are written into the file, and protect nothing. Everything is
deterministic (RFC 6979 signatures, nonces and serial numbers from names), so that each run writes the same file.
"""
import base64
import datetime
import functools
import hashlib
import hmac
import json
import struct
import sys
import uuid

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

import conversations
from wire_vectors import encode, frame, write

ABOUT = (
    "Test vectors of the RemoteSystems wire protocol 1.0; section 13 of wire-protocol.md describes them. The private keys "
    "in this file are public test keys: never use them, or certificates made with them, for anything else."
)
# About noon of a fixed day, so that no vector depends on a clock.
NOW = 1_790_000_000
DAY = 86_400


def derive(name, count=32):
    """Pseudo-random bytes that are derived from a name."""
    return hashlib.sha256(f"remote-systems public test data: {name}".encode()).digest()[:count]


# Keys and names [2]

class Key:
    def __init__(self, name, curve=ec.SECP256R1()):
        order = 2**curve.key_size  # the derived number is far below every order used here
        self.name = name
        self.number = int.from_bytes(derive(f"key {name}")) % order >> 1 | 1
        self.private = ec.derive_private_key(self.number, curve)
        self.public = self.private.public_key()
        self.spki = self.public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.fingerprint = hashlib.sha256(self.spki).digest()
        self.id = base32(self.fingerprint)

    def vector(self):
        return {"name": self.name, "private": f"{self.number:064x}", "spki": self.spki.hex(), "id": self.id}

    def signature(self, data):
        """r and s, of 32 bytes each."""
        der = self.private.sign(data, ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        return b"".join(number.to_bytes(32) for number in decode_dss_signature(der))


def base32(data):
    return base64.b32encode(data).decode().rstrip("=").lower()


ACCOUNT, OTHER_ACCOUNT = Key("account"), Key("another account")
SYSTEM, OTHER_SYSTEM, THIRD_SYSTEM = Key("system"), Key("another system"), Key("a third system")
INVITER, JOINER = Key("inviter"), Key("joiner")
SECOND_ROOT, THIRD_ROOT = Key("the account's second root"), Key("the account's third root")
KEYS = [ACCOUNT, OTHER_ACCOUNT, SYSTEM, OTHER_SYSTEM, THIRD_SYSTEM, INVITER, JOINER, SECOND_ROOT, THIRD_ROOT]
DISCOVERY_KEY = derive("discovery key")


# Certificates [2]

def common_name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def moment(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)


def root_certificate(account):
    name = common_name("RemoteSystems account")
    builder = (
        x509.CertificateBuilder(name, name, account.public)
        .serial_number(int.from_bytes(derive(f"serial {account.name}", 16)) >> 1)
        .not_valid_before(moment(NOW - DAY))
        .not_valid_after(moment(NOW + 10_000 * DAY))
        .add_extension(x509.BasicConstraints(True, 0), True)
        .add_extension(key_usage(digital_signature=False, key_cert_sign=True, crl_sign=True), True)
    )
    return sign(builder, account)


def link(number=2, key=SECOND_ROOT, signer=ACCOUNT, account=ACCOUNT, names=None, retirement=NOW + 90 * DAY, more=(),
         begin=NOW - DAY, constraints=x509.BasicConstraints(True, None), usage=None, algorithm=hashes.SHA256()):
    """The certificate of an account's root but the first, signed by the one before; each argument breaks a rule."""
    name = common_name("RemoteSystems account")
    names = [x509.UniformResourceIdentifier(f"remote-systems://{account.id}")] if names is None else names
    builder = (
        x509.CertificateBuilder(name, name, key.public).serial_number(number)
        .not_valid_before(moment(begin)).not_valid_after(moment(retirement))
        .add_extension(constraints, True)
        .add_extension(usage or key_usage(digital_signature=False, key_cert_sign=True, crl_sign=True), True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
    for extension, critical in more:
        builder = builder.add_extension(extension, critical)
    return sign(builder, signer, algorithm)


def third_link(**changes):
    return link(**{"number": 3, "key": THIRD_ROOT, "signer": SECOND_ROOT, **changes})


def key_usage(digital_signature=True, key_cert_sign=False, crl_sign=False, key_agreement=False):
    return x509.KeyUsage(digital_signature=digital_signature, key_cert_sign=key_cert_sign, crl_sign=crl_sign,
                         content_commitment=False, key_encipherment=False, data_encipherment=False,
                         key_agreement=key_agreement, encipher_only=False, decipher_only=False)


def sign(builder, key, algorithm=hashes.SHA256()):
    return builder.sign(key.private, algorithm, ecdsa_deterministic=True).public_bytes(Encoding.DER)


def uri(account, system):
    return x509.UniformResourceIdentifier(f"remote-systems://{account.id}/{system.id}")


CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


def certificate(key=SYSTEM, account=ACCOUNT, signer=None, names=None, begin=NOW - DAY, end=NOW + 90 * DAY, more=(),
                constraints=x509.BasicConstraints(False, None), usage=key_usage(), purposes=(CLIENT, SERVER),
                algorithm=hashes.SHA256(), subject="RemoteSystems system", issuer="RemoteSystems account", label=""):
    """A certificate that keeps every rule unless an argument breaks one; None leaves an extension out."""
    names = [uri(account, key)] if names is None else names
    builder = (
        x509.CertificateBuilder(common_name(issuer), common_name(subject), key.public)
        .serial_number(int.from_bytes(derive(f"serial {key.name} {label}", 16)) >> 1)
        .not_valid_before(moment(begin))
        .not_valid_after(moment(end))
    )
    if constraints:
        builder = builder.add_extension(constraints, True)
    if usage:
        builder = builder.add_extension(usage, True)
    if purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), False)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
    for extension, critical in more:
        builder = builder.add_extension(extension, critical)
    return sign(builder, signer or account, algorithm)


def certificates():
    unknown = x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.32473.1"), b"\x05\x00")
    large = x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.32473.1"), bytes(4096))
    good = certificate()
    named = f"remote-systems://{ACCOUNT.id}/"

    def valid(name, data, system=SYSTEM, **more):
        return {"name": name, "hex": data.hex(), "json": {"system": system.id}, **more}

    def refused(name, reason, code, data, **more):
        return {"name": name, "hex": data.hex(), "refused": reason, "code": code, **more}

    # The base32 of 32 bytes ends with four unused bits: the next letter is another spelling of the same bytes.
    last = "abcdefghijklmnopqrstuvwxyz234567"
    misspelled = SYSTEM.id[:-1] + last[last.index(SYSTEM.id[-1]) + 1]
    return [
        valid("a system of the account", good),
        valid("another system of the account", certificate(OTHER_SYSTEM), OTHER_SYSTEM),
        valid("subject and issuer mean nothing", certificate(subject="Anything", issuer="Anybody")),
        valid("an extension that is not critical means nothing", certificate(more=[(unknown, False)])),
        valid("a further purpose and a further usage do not matter",
              certificate(purposes=(CLIENT, ExtendedKeyUsageOID.CODE_SIGNING, SERVER), usage=key_usage(key_agreement=True))),
        valid("in its last hour", good, now=NOW + 90 * DAY - 3600),
        valid("another account's system, where anonymous peers are let in", certificate(OTHER_SYSTEM, OTHER_ACCOUNT),
              OTHER_SYSTEM, anonymous=True),
        refused("not begun yet", "not begun", "certificate-not-yet-valid", good, now=NOW - 2 * DAY),
        refused("ended", "ended", "certificate-expired", good, now=NOW + 91 * DAY),
        refused("a revoked system", "the system was revoked", "revoked", good, revoked=[SYSTEM.id]),
        refused("another account's system", "names another account", "other-account",
                certificate(account=OTHER_ACCOUNT)),
        refused("another account's system, ended", "the account comes before the validity", "other-account",
                certificate(account=OTHER_ACCOUNT), now=NOW + 91 * DAY),
        refused("another account's system, with a second name", "the name's form comes before the account", "certificate-invalid",
                certificate(account=OTHER_ACCOUNT, names=[uri(OTHER_ACCOUNT, SYSTEM), x509.DNSName("example.com")])),
        refused("an authority, ended", "the extensions come before the validity", "certificate-invalid",
                certificate(constraints=x509.BasicConstraints(True, None)), now=NOW + 91 * DAY),
        refused("signed by another account, ended", "the signature comes before the validity", "certificate-invalid",
                certificate(signer=OTHER_ACCOUNT), now=NOW + 91 * DAY),
        refused("a revoked system, ended", "the validity comes before the revocation list", "certificate-expired", good,
                now=NOW + 91 * DAY, revoked=[SYSTEM.id]),
        refused("another account's P-384 key", "the key comes before the account", "certificate-invalid",
                certificate(Key("P-384", ec.SECP384R1()), OTHER_ACCOUNT)),
        refused("the account's name, signed by another account", "not signed by the account's root key",
                "certificate-invalid", certificate(signer=OTHER_ACCOUNT)),
        refused("the account's name, signed by another account, where anonymous peers are let in",
                "who names one's own account must be of it", "certificate-invalid", certificate(signer=OTHER_ACCOUNT),
                anonymous=True),
        refused("self-signed", "not signed by the account's root key", "certificate-invalid", certificate(signer=SYSTEM)),
        refused("a changed byte", "the signature does not hold", "certificate-invalid",
                good[:-1] + bytes([good[-1] ^ 1])),
        refused("signed with SHA-384", "the signature is ECDSA with SHA-256", "certificate-invalid",
                certificate(algorithm=hashes.SHA384())),
        refused("another system's id", "the id is not that of the key", "certificate-invalid",
                certificate(names=[uri(ACCOUNT, OTHER_SYSTEM)])),
        refused("no names", "exactly one name", "other-account", certificate(names=[])),
        refused("a second name", "exactly one name", "certificate-invalid",
                certificate(names=[uri(ACCOUNT, SYSTEM), x509.DNSName("example.com")])),
        refused("a DNS name alone", "the name is a URI", "other-account", certificate(names=[x509.DNSName(SYSTEM.id)])),
        refused("a DNS name before the URI", "the first name is a URI", "other-account",
                certificate(names=[x509.DNSName("example.com"), uri(ACCOUNT, SYSTEM)])),
        refused("a URI of another scheme", "the name is remote-systems://…", "other-account",
                certificate(names=[x509.UniformResourceIdentifier(f"https://{ACCOUNT.id}/{SYSTEM.id}")])),
        refused("a name with a third part", "the name is remote-systems://<account id>/<system id>", "certificate-invalid",
                certificate(names=[x509.UniformResourceIdentifier(f"{named}{SYSTEM.id}/")])),
        refused("an id in upper case", "ids are in lower case", "certificate-invalid",
                certificate(names=[x509.UniformResourceIdentifier(named + SYSTEM.id.upper())])),
        refused("an id with unused bits that are not zero", "the last character holds one bit", "certificate-invalid",
                certificate(names=[x509.UniformResourceIdentifier(named + misspelled)])),
        refused("without basic constraints", "basic constraints are missing", "certificate-invalid",
                certificate(constraints=None)),
        refused("an authority", "basic constraints say CA", "certificate-invalid",
                certificate(constraints=x509.BasicConstraints(True, None))),
        refused("without a key usage", "key usage is missing", "certificate-invalid", certificate(usage=None)),
        refused("not for signatures", "key usage lacks digitalSignature", "certificate-invalid",
                certificate(usage=key_usage(digital_signature=False, key_agreement=True))),
        refused("for signing certificates", "key usage has keyCertSign", "certificate-invalid",
                certificate(usage=key_usage(key_cert_sign=True))),
        refused("for signing revocation lists", "key usage has cRLSign", "certificate-invalid",
                certificate(usage=key_usage(crl_sign=True))),
        refused("without an extended key usage", "extended key usage is missing", "certificate-invalid",
                certificate(purposes=None)),
        refused("for clients alone", "extended key usage lacks serverAuth", "certificate-invalid",
                certificate(purposes=(CLIENT,))),
        refused("for servers alone", "extended key usage lacks clientAuth", "certificate-invalid",
                certificate(purposes=(SERVER,))),
        refused("an unknown critical extension", "another critical extension", "certificate-invalid",
                certificate(more=[(unknown, True)])),
        refused("a P-384 key", "the key is of P-256", "certificate-invalid", certificate(Key("P-384", ec.SECP384R1()))),
        refused("the account's root certificate", "no name of a system", "other-account", root_certificate(ACCOUNT)),
        refused("longer than 4096 bytes", "at most 4096 bytes", "certificate-invalid", certificate(more=[(large, False)])),
        refused("cut off", "not a certificate in DER", "certificate-invalid", good[:-1]),
        refused("a byte behind it", "not a certificate in DER", "certificate-invalid", good + b"\x00"),
        refused("no bytes", "not a certificate in DER", "certificate-invalid", b""),
        *linked_certificates(),
    ]


def linked_certificates():
    """Certificates of systems that present links; the verifier knows the first root."""
    first, second, third = (certificate(signer=signer, label=signer.name) for signer in (ACCOUNT, SECOND_ROOT, THIRD_ROOT))
    unknown = x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.32473.1"), b"\x05\x00")
    large = x509.UnrecognizedExtension(ObjectIdentifier("1.3.6.1.4.1.32473.1"), bytes(200))
    # Newest first.
    links = [third_link(), link()]

    def valid(name, data, links, system=SYSTEM, **more):
        return {"name": name, "hex": data.hex(), "links": [one.hex() for one in links], "json": {"system": system.id}, **more}

    def refused(name, reason, data, links, code="certificate-invalid", **more):
        return {"name": name, "hex": data.hex(), "links": [one.hex() for one in links], "refused": reason, "code": code, **more}

    def many(count):
        keys = [ACCOUNT] + [Key(f"root {number}") for number in range(2, count + 1)]
        chain = [link(number, key, signer) for number, (signer, key) in enumerate(zip(keys, keys[1:]), 2)]
        return certificate(signer=keys[-1], label=keys[-1].name), chain[::-1]

    def forged(name, reason, **changes):
        return refused(name, reason, second, [link(**changes)])

    uri = x509.UniformResourceIdentifier(f"remote-systems://{ACCOUNT.id}")
    return [
        valid("signed by the second root", second, [link()]),
        valid("signed by the third root", third, links),
        valid("signed by the second root, and a third is known", second, links),
        valid("signed by the first root, which is replaced and not retired", first, links),
        valid("signed by the sixteenth root", *many(16)),
        valid("of another account, with anything behind it", certificate(account=OTHER_ACCOUNT, label="other"), [b"any", first],
              anonymous=True),
        refused("a retired root", "the first root is retired", first, [link(retirement=NOW)], "certificate-expired"),
        refused("a stolen root, by a clock that is behind", "the first root is retired", first,
                [link(begin=NOW + DAY, retirement=NOW + DAY)], "certificate-expired"),
        refused("a retired root between", "the second root is retired", second, [third_link(retirement=NOW), link()],
                "certificate-expired"),
        refused("without its links", "not signed by a known root key", third, []),
        refused("a link left out", "the number of the next root", third, links[:1]),
        refused("links in another order", "the newest first", third, links[::-1]),
        refused("a link twice", "one link for each root", third, [third_link(), link(), link()]),
        refused("the first root's own certificate behind the links", "one link for each root", third,
                [*links, root_certificate(ACCOUNT)]),
        refused("sixteen links", "at most 15 links", *many(17)),
        forged("a link signed by another key", "signed by the root before", signer=OTHER_ACCOUNT),
        forged("a link signed by itself", "signed by the root before", signer=SECOND_ROOT),
        forged("a link of another account", "the account's name", account=OTHER_ACCOUNT),
        forged("a link without a name", "exactly one name", names=[]),
        forged("a link with a second name", "exactly one name", names=[uri, x509.DNSName("example.com")]),
        forged("a link with a system's name", "the account's name",
               names=[x509.UniformResourceIdentifier(f"remote-systems://{ACCOUNT.id}/{SYSTEM.id}")]),
        forged("a link with the first root's number", "the number of the root", number=1),
        forged("a link with the third root's number", "the number of the root", number=3),
        forged("a link that is no authority's", "a CA", constraints=x509.BasicConstraints(False, None)),
        forged("a link that is not for certificates", "keyCertSign", usage=key_usage()),
        forged("a link signed over SHA-384", "ECDSA with SHA-256", algorithm=hashes.SHA384()),
        forged("a link with an unknown critical extension", "another critical extension", more=[(unknown, True)]),
        forged("a link of more than 512 bytes", "at most 512 bytes", more=[(large, False)]),
        refused("the second root again", "each key once", certificate(signer=ACCOUNT, label="again"),
                [third_link(key=ACCOUNT), link()]),
    ]


# Discovery tags [12]

def tags():
    def entry(name, key, instance, protocol=b"remote-systems/1", **more):
        tag = hmac.digest(key, protocol + instance.encode(), "sha256")[:8]
        return {"name": name, "key": key.hex(), "instance": instance, "hex": more.pop("tag", tag).hex(), **more}

    other = derive("another discovery key")
    tag = hmac.digest(DISCOVERY_KEY, b"remote-systems/1abc", "sha256")[:8]
    return [
        entry("a short name", DISCOVERY_KEY, "abc"),
        entry("a key that counts up", bytes(range(32)), "abc"),
        entry("a name of 63 bytes", DISCOVERY_KEY, "q" * 63),
        entry("a name beyond ASCII, as UTF-8", DISCOVERY_KEY, "Zoë’s laptop"),
        entry("a name with a dot, unescaped", DISCOVERY_KEY, "a.b\\c"),
        entry("a key of zeros", bytes(32), "abc"),
        {"name": "another account's tag", "key": other.hex(), "instance": "abc", "hex": tag.hex(),
         "refused": "made with another key"},
        {"name": "another instance's tag", "key": DISCOVERY_KEY.hex(), "instance": "abd", "hex": tag.hex(),
         "refused": "made for another instance"},
        {"name": "a tag of 7 bytes", "key": DISCOVERY_KEY.hex(), "instance": "abc", "hex": tag[:7].hex(),
         "refused": "a tag has 8 bytes"},
        {"name": "a tag of 9 bytes", "key": DISCOVERY_KEY.hex(), "instance": "abc", "hex": tag.hex() + "00",
         "refused": "a tag has 8 bytes"},
        {"name": "no tag", "key": DISCOVERY_KEY.hex(), "instance": "abc", "hex": "", "refused": "a tag has 8 bytes"},
    ]


# Revocation lists [12]

REVOCATION = b"remote-systems/1 revoked"


def revocation_list(number, systems, account=ACCOUNT, signer=None, context=REVOCATION, ordered=True):
    ids = [system.fingerprint for system in systems]
    body = struct.pack(">Q", number) + b"".join(sorted(ids) if ordered else ids)
    return body + (signer or account).signature(context + account.fingerprint + body)


DISCOVERY = b"remote-systems/1 discovery"


def signed_discovery_key(number, key=DISCOVERY_KEY, account=ACCOUNT, signer=None, context=DISCOVERY):
    body = struct.pack(">Q", number) + key
    return body + (signer or account).signature(context + account.fingerprint + body)


def discovery_keys():
    number, code = NOW * 1000, "revocation-list-invalid"
    good = signed_discovery_key(number)

    def valid(name, number, **more):
        return {"name": name, "hex": signed_discovery_key(number, **more).hex(),
                "json": {"number": number, "key": DISCOVERY_KEY.hex()}}

    def refused(name, reason, data):
        return {"name": name, "hex": data.hex(), "refused": reason, "code": code}

    return [
        valid("a key", number),
        valid("the largest number", 2**64 - 1),
        refused("signed by another account", "the signature does not hold", signed_discovery_key(number, signer=OTHER_ACCOUNT)),
        refused("of another account", "the signature does not hold", signed_discovery_key(number, account=OTHER_ACCOUNT)),
        refused("signed without its context", "the signature does not hold", signed_discovery_key(number, context=b"")),
        refused("signed as a revocation list", "the signature does not hold", signed_discovery_key(number, context=REVOCATION)),
        refused("a changed number", "the signature does not hold", good[:7] + bytes([good[7] ^ 1]) + good[8:]),
        refused("a changed key", "the signature does not hold", good[:8] + bytes([good[8] ^ 1]) + good[9:]),
        refused("cut off", "another length", good[:-1]),
        refused("a byte behind it", "another length", good + b"\x00"),
        refused("no bytes", "another length", b""),
        {**valid("signed by the second root", number, signer=SECOND_ROOT), "links": [link().hex()]},
        refused("signed by the second root, which is not known", "the signature does not hold",
                signed_discovery_key(number, signer=SECOND_ROOT)),
        {**refused("signed by a retired root", "the first root is retired", good), "links": [link(retirement=NOW).hex()]},
    ]


def revocation_lists():
    three = sorted([SYSTEM, OTHER_SYSTEM, THIRD_SYSTEM], key=lambda key: key.fingerprint)
    number = NOW * 1000
    good = revocation_list(number, [SYSTEM])

    def valid(name, number, systems):
        return {"name": name, "hex": revocation_list(number, systems).hex(),
                "json": {"number": number, "systems": [key.id for key in sorted(systems, key=lambda key: key.fingerprint)]}}

    def refused(name, reason, code, data):
        return {"name": name, "hex": data.hex(), "refused": reason, "code": code}

    return [
        valid("one system", number, [SYSTEM]),
        valid("three systems, in the order of their bytes", number + 1, three),
        valid("no system", 1, []),
        valid("the largest number", 2**64 - 1, [OTHER_SYSTEM]),
        refused("out of order", "the ids are not in ascending order", "revocation-list-invalid",
                revocation_list(number, three[::-1], ordered=False)),
        refused("a system twice", "each once", "revocation-list-invalid", revocation_list(number, [SYSTEM, SYSTEM])),
        refused("signed by another account", "the signature does not hold", "revocation-list-invalid",
                revocation_list(number, [SYSTEM], signer=OTHER_ACCOUNT)),
        refused("of another account", "the signature does not hold", "revocation-list-invalid",
                revocation_list(number, [SYSTEM], account=OTHER_ACCOUNT)),
        refused("signed without its context", "the signature does not hold", "revocation-list-invalid",
                revocation_list(number, [SYSTEM], context=b"")),
        refused("a changed number", "the signature does not hold", "revocation-list-invalid",
                good[:7] + bytes([good[7] ^ 1]) + good[8:]),
        refused("an id that is cut off", "another length", "revocation-list-invalid", good[:39] + good[40:]),
        refused("cut off", "another length", "revocation-list-invalid", good[:-1]),
        refused("a byte behind it", "another length", "revocation-list-invalid", good + b"\x00"),
        refused("no signature", "another length", "revocation-list-invalid", good[:8]),
        refused("no bytes", "another length", "revocation-list-invalid", b""),
        {**valid("signed by the second root", number, [SYSTEM]), "links": [link().hex()],
         "hex": revocation_list(number, [SYSTEM], signer=SECOND_ROOT).hex()},
        {**valid("signed by the first root, which is replaced and not retired", number, [SYSTEM]), "links": [link().hex()]},
        refused("signed by the second root, which is not known", "the signature does not hold", "revocation-list-invalid",
                revocation_list(number, [SYSTEM], signer=SECOND_ROOT)),
        {**refused("signed by a retired root", "the first root is retired", "revocation-list-invalid", good),
         "links": [link(retirement=NOW).hex()]},
    ]


# Links

LINKS, WITHDRAWN = b"remote-systems/1 links", b"remote-systems/1 link withdrawn"


def withdrawal(number, account=ACCOUNT, other=OTHER_ACCOUNT, signer=None, context=WITHDRAWN):
    head = struct.pack(">Q", number)
    return head + (signer or account).signature(context + account.fingerprint + other.fingerprint + head)


def account_link(account=OTHER_ACCOUNT, **changes):
    values = {"roots": root_certificate(account), "name": "Ada", "granted": {"services": ["com.example.volume"]}, "received": {},
              "created": cbor2.CBORTag(1, NOW), "discovery-key": derive("link key", 32), "number": NOW * 1000,
              "other-number": 1, **changes}
    return {key: value for key, value in values.items() if value is not None}


def link_list(links, number=NOW * 1000, signer=ACCOUNT, context=LINKS, **more):
    body = encode({"number": number, "links": links, **more})
    return body + signer.signature(context + ACCOUNT.fingerprint + body)


def link_lists():
    two = sorted([OTHER_ACCOUNT, THIRD_SYSTEM], key=lambda key: key.fingerprint)
    number = NOW * 1000

    def valid(name, entries, states=None, data=None, **more):
        states = states or ["active"] * len(entries)
        return {"name": name, "hex": (data or link_list(entries)).hex(), "json": {"number": number, "states": states}, **more}

    def refused(name, reason, data):
        return {"name": name, "hex": data.hex(), "refused": reason}

    good = link_list([account_link()])
    granted = {"services": ["a", "b"], "schemes": ["https"], "topics": ["t"], "end": cbor2.CBORTag(1, NOW + 86_400)}
    return [
        valid("no link", []),
        valid("one link", [account_link()]),
        valid("two links, in the order of the accounts", [account_link(key) for key in two]),
        valid("all kinds of grants", [account_link(granted=granted, received=granted)]),
        valid("grants that have ended", [account_link(granted={"end": cbor2.CBORTag(1, NOW - 1)})]),
        valid("a withdrawn link", [account_link(granted={}, withdrawal=withdrawal(number))], ["withdrawn"]),
        valid("a withdrawal that was dropped", [account_link()], data=link_list([account_link()], **{"dropped-number": number - 1})),
        refused("a number without a next one", "at most 2^63 - 2", link_list([], 2**63 - 1)),
        refused("a dropped number after the list's own", "at most the list's number", link_list([], **{"dropped-number": number + 1})),
        refused("a dropped number that is text", "an integer", link_list([], **{"dropped-number": "1"})),
        valid("unknown keys", [account_link(colour="blue")], data=link_list([account_link(colour="blue")], more=1)),
        valid("signed by the second root", [account_link()], data=link_list([account_link()], signer=SECOND_ROOT),
              links=[link().hex()]),
        refused("signed by another account", "the signature does not hold", link_list([], signer=OTHER_ACCOUNT)),
        refused("signed without its context", "the signature does not hold", link_list([], context=b"")),
        refused("a changed byte", "the signature does not hold", good[:20] + bytes([good[20] ^ 1]) + good[21:]),
        refused("out of order", "ascending order of the accounts", link_list([account_link(key) for key in two[::-1]])),
        refused("an account twice", "each account once", link_list([account_link(), account_link()])),
        refused("a link with the account itself", "another account", link_list([account_link(ACCOUNT)])),
        refused("without a name", "a key is missing", link_list([account_link(name=None)])),
        refused("a name with a line break", "no control characters", link_list([account_link(name="A\nB")])),
        refused("a scheme in upper case", "schemes are in lower case", link_list([account_link(granted={"schemes": ["HTTPS"]})])),
        refused("65 services", "at most 64", link_list([account_link(granted={"services": [f"s{n:02}" for n in range(65)]})])),
        refused("a later number in a link", "no link is newer than the list", link_list([account_link(number=number + 1)])),
        refused("a short discovery key", "32 bytes", link_list([account_link(**{"discovery-key": bytes(31)})])),
        refused("a withdrawal that another account signed", "the signature does not hold",
                link_list([account_link(withdrawal=withdrawal(number, signer=OTHER_ACCOUNT))])),
        refused("cut off", "the signature does not hold", good[:-1]),
        refused("no bytes", "no signature", b""),
    ]


def link_withdrawals():
    number = NOW * 1000

    def valid(name, number, data=None, **more):
        return {"name": name, "hex": (data or withdrawal(number)).hex(), "json": {"number": number}, **more}

    def refused(name, reason, data):
        return {"name": name, "hex": data.hex(), "refused": reason}

    good = withdrawal(number)
    return [
        valid("a withdrawal", number),
        valid("the largest number", 2**63 - 2),
        refused("a number without a next one", "at most 2^63 - 2", withdrawal(2**63 - 1)),
        valid("signed by the second root", number, withdrawal(number, signer=SECOND_ROOT), links=[link().hex()]),
        refused("signed by another account", "the signature does not hold", withdrawal(number, signer=OTHER_ACCOUNT)),
        refused("of another link", "the signature does not hold", withdrawal(number, other=THIRD_SYSTEM)),
        refused("signed without its context", "the signature does not hold", withdrawal(number, context=b"")),
        refused("a changed number", "the signature does not hold", good[:7] + bytes([good[7] ^ 1]) + good[8:]),
        refused("cut off", "another length", good[:-1]),
        refused("a byte behind it", "another length", good + b"\x00"),
        refused("no bytes", "another length", b""),
    ]


def learned(account=OTHER_ACCOUNT, chain=(), **parts):
    """What a system learned of a linked account; each part may be missing, or break a rule."""
    values = {"roots": root_certificate(account) + b"".join(chain), **{name.replace("_", "-"): part for name, part in parts.items()}}
    return encode({key: value for key, value in values.items() if value is not None})


def their_list(number, systems, **changes):
    return revocation_list(number, systems, **{"account": OTHER_ACCOUNT, **changes})


def their_link(**changes):
    """The certificate of the other account's second root."""
    return link(**{"account": OTHER_ACCOUNT, "signer": OTHER_ACCOUNT, **changes})


def linked_accounts():
    number = NOW * 1000

    def valid(name, data, roots=1, revoked=(), **more):
        revoked = [key.id for key in sorted(revoked, key=lambda key: key.fingerprint)]
        more = {key.replace("_", "-"): value for key, value in more.items()}
        return {"name": name, "hex": data.hex(), "json": {"account": OTHER_ACCOUNT.id, "roots": roots, "revoked": revoked, **more}}

    def refused(name, reason, data):
        return {"name": name, "hex": data.hex(), "refused": reason}

    one, theirs = their_list(number, [SYSTEM]), withdrawal(number, OTHER_ACCOUNT, ACCOUNT)
    good = learned(revocations=one)
    return [
        valid("the root key alone", learned()),
        valid("a replaced root key", learned(chain=[their_link()]), 2),
        valid("a revocation list", good, revoked=[SYSTEM]),
        valid("a list that the second root signed",
              learned(chain=[their_link()], revocations=their_list(number, [SYSTEM], signer=SECOND_ROOT)), 2, [SYSTEM]),
        valid("a list of the first root, which is replaced and not retired", learned(chain=[their_link()], revocations=one),
              2, [SYSTEM]),
        valid("a list and a notice of a retired root", learned(chain=[their_link(retirement=NOW)], revocations=one, withdrawal=theirs),
              2),
        valid("two lists that name different systems",
              learned(revocations=their_list(number + 1, [SYSTEM]), older_revocations=[their_list(number, [OTHER_SYSTEM])]),
              revoked=[SYSTEM, OTHER_SYSTEM]),
        valid("four lists",
              learned(revocations=their_list(number + 3, [SYSTEM]),
                      older_revocations=[their_list(number + 2, [OTHER_SYSTEM]), their_list(number + 1, [THIRD_SYSTEM]),
                                         their_list(number, [JOINER])]),
              revoked=[SYSTEM, OTHER_SYSTEM, THIRD_SYSTEM, JOINER]),
        valid("a notice of the linked account", learned(withdrawal=theirs), withdrawal=number),
        valid("a notice of this account", learned(own_withdrawal=withdrawal(number + 1)), own_withdrawal=number + 1),
        valid("everything",
              learned(revocations=their_list(number + 1, [SYSTEM]), older_revocations=[their_list(number, [OTHER_SYSTEM])],
                      withdrawal=theirs, own_withdrawal=withdrawal(number + 1)),
              revoked=[SYSTEM, OTHER_SYSTEM], withdrawal=number, own_withdrawal=number + 1),
        valid("a notice that another account signed, which counts as missing",
              learned(revocations=one, withdrawal=withdrawal(number, OTHER_ACCOUNT, ACCOUNT, signer=ACCOUNT)), revoked=[SYSTEM]),
        valid("a notice of another link, which counts as missing",
              learned(revocations=one, withdrawal=withdrawal(number, OTHER_ACCOUNT, THIRD_SYSTEM)), revoked=[SYSTEM]),
        valid("the notices exchanged, which count as missing", learned(withdrawal=withdrawal(number), own_withdrawal=theirs)),
        valid("a notice with a number without a next one, which counts as missing",
              learned(withdrawal=withdrawal(2**63 - 1, OTHER_ACCOUNT, ACCOUNT))),
        valid("a notice that is text, which counts as missing", learned(withdrawal="today")),
        valid("an unknown key", learned(revocations=one, later=1), revoked=[SYSTEM]),
        refused("without root keys", "a key is missing", learned(roots=None)),
        refused("root keys that are text", "data", learned(roots="key")),
        refused("no root key", "at least one", learned(roots=b"")),
        refused("a root certificate that is cut off", "not a certificate", learned(roots=root_certificate(OTHER_ACCOUNT)[:-1])),
        refused("a second root that another account signed", "the signature does not hold",
                learned(chain=[their_link(signer=ACCOUNT)])),
        refused("a second root of another account", "another account", learned(chain=[link()])),
        refused("a list that another account signed", "the signature does not hold",
                learned(revocations=their_list(number, [SYSTEM], signer=ACCOUNT))),
        refused("a list of another account", "the signature does not hold", learned(revocations=revocation_list(number, [SYSTEM]))),
        refused("a list that the second root signed, which is missing", "the signature does not hold",
                learned(revocations=their_list(number, [SYSTEM], signer=SECOND_ROOT))),
        refused("a list signed without its context", "the signature does not hold",
                learned(revocations=their_list(number, [SYSTEM], context=b""))),
        refused("a list with a changed byte", "the signature does not hold",
                learned(revocations=one[:7] + bytes([one[7] ^ 1]) + one[8:])),
        refused("a list that is cut off", "another length", learned(revocations=one[:-1])),
        refused("a list that is text", "data", learned(revocations="list")),
        refused("an older list that another account signed", "the signature does not hold",
                learned(revocations=one, older_revocations=[their_list(number - 1, [OTHER_SYSTEM], signer=ACCOUNT)])),
        refused("older lists that are no array", "an array", learned(revocations=one, older_revocations=one)),
        refused("an older list that is a number", "data", learned(revocations=one, older_revocations=[1])),
        refused("four older lists", "at most 3",
                learned(revocations=one, older_revocations=[their_list(number - n, [OTHER_SYSTEM]) for n in range(1, 5)])),
        refused("an array", "not a dictionary", encode([root_certificate(OTHER_ACCOUNT)])),
        refused("cut off", "not a dictionary", good[:-1]),
        refused("a byte behind it", "not a dictionary", good + b"\x00"),
        refused("no bytes", "not a dictionary", b""),
    ]


def linked_records():
    """Records of the topic trust, from which a receiver joins what it reads of each linked account."""
    number = NOW * 1000
    one = learned(revocations=their_list(number, [SYSTEM]))
    other = learned(THIRD_SYSTEM)
    forged = learned(revocations=their_list(number, [SYSTEM], signer=ACCOUNT))

    def records(contents):
        return [{"key": key, "hex": encode({"Bytes": content} if isinstance(content, (bytes, str)) else content).hex()}
                for key, content in contents.items()]

    def valid(name, accounts, contents):
        return {"name": name, "records": records(contents), "json": {"accounts": [account.id for account in accounts]}}

    def refused(name, reason, contents):
        return {"name": name, "records": records(contents), "refused": reason}

    both, second = [OTHER_ACCOUNT, THIRD_SYSTEM], [THIRD_SYSTEM]
    return [
        valid("one account", [OTHER_ACCOUNT], {"linked/0/0": one}),
        valid("an account in three pieces", [OTHER_ACCOUNT],
              {"linked/0/0": one[:100], "linked/0/1": one[100:101], "linked/0/2": one[101:]}),
        valid("two accounts", both, {"linked/0/0": one, "linked/1/0": other}),
        valid("two accounts, the second one in two pieces", both,
              {"linked/0/0": one, "linked/1/0": other[:50], "linked/1/1": other[50:]}),
        valid("the greatest number of an account", both, {"linked/0/0": one, "linked/23/0": other}),
        valid("an unknown field", [OTHER_ACCOUNT], {"linked/0/0": {"Bytes": one, "Later": 1}}),
        valid("records under other keys", [OTHER_ACCOUNT], {"linked/0/0": one, "later/0/0": other, "linked/1/first": other}),
        valid("the first of two does not verify", second, {"linked/0/0": forged, "linked/1/0": other}),
        valid("the first of two is no dictionary", second, {"linked/0/0": b"\xff", "linked/1/0": other}),
        valid("the first of two has no bytes", second, {"linked/0/0": {}, "linked/1/0": other}),
        valid("the first of two is text", second, {"linked/0/0": "one", "linked/1/0": other}),
        valid("the first of two lacks its first piece", second, {"linked/0/1": one, "linked/1/0": other}),
        valid("the first of two lacks a piece", second,
              {"linked/0/0": one[:100], "linked/0/2": one[100:], "linked/1/0": other}),
        valid("the first of two requires a field that is not known", second,
              {"linked/0/0": {"Bytes": one, "Later": 1, "requires": ["Later"]}, "linked/1/0": other}),
        valid("a piece behind a missing one is ignored", both, {"linked/0/0": one, "linked/0/2": one, "linked/1/0": other}),
        refused("the number 24 of an account", "0 to 23", {"linked/24/0": one}),
        refused("a leading zero in the number of the account", "no leading zeros", {"linked/00/0": one}),
        refused("a leading zero in the number of the piece", "no leading zeros", {"linked/0/00": one}),
        refused("a sign", "decimal digits", {"linked/+0/0": one}),
        refused("a number in hexadecimal digits", "decimal digits", {"linked/a/0": one}),
        refused("no number of the piece", "linked/M/N", {"linked/0": one}),
        refused("a further part of the key", "linked/M/N", {"linked/0/0/0": one}),
        refused("a key in upper case", "linked/M/N", {"Linked/0/0": one}),
        refused("the second piece alone", "the pieces begin with 0", {"linked/0/1": one}),
        refused("no bytes", "Bytes is required", {"linked/0/0": {}}),
        refused("an empty piece", "1 to 16384 bytes", {"linked/0/0": b""}),
        refused("bytes that are text", "data", {"linked/0/0": "one"}),
        refused("bytes that are an array", "data", {"linked/0/0": {"Bytes": [one]}}),
        refused("a field that must be known and is not", "Later is not known",
                {"linked/0/0": {"Bytes": one, "Later": 1, "requires": ["Later"]}}),
        refused("required fields that are text", "an array", {"linked/0/0": {"Bytes": one, "requires": "Bytes"}}),
    ]


# Joining [12]

SECRET = derive("invitation secret", 16)
EXPIRY = NOW + 600


def invitation(**changes):
    items = {"v": "1", "account": ACCOUNT.id, "address": "192.0.2.7:47475", "expires": str(EXPIRY), "secret": base32(SECRET)}
    items.update(changes)
    return "remote-systems://join?" + "&".join(
        f"{key}={value}" for key, values in items.items() if values is not None
        for value in (values if isinstance(values, list) else [values]))


def invitations():
    meaning = {"account": ACCOUNT.id, "addresses": [{"host": "192.0.2.7", "port": 47475}], "expires": EXPIRY,
               "secret": base32(SECRET)}

    def valid(name, text, **changes):
        return {"name": name, "text": text, "json": {**meaning, **changes}}

    def refused(name, reason, text):
        return {"name": name, "text": text, "refused": reason}

    eight = [f"192.0.2.{number}:47475" for number in range(1, 9)]
    return [
        valid("an IPv4 address", invitation()),
        valid("an IPv6 address", invitation(address="[2001:db8::7]:47475"), addresses=[{"host": "2001:db8::7", "port": 47475}]),
        valid("an IPv6 address, percent-encoded", invitation(address="%5B2001%3Adb8%3A%3A7%5D%3A47475"),
              addresses=[{"host": "2001:db8::7", "port": 47475}]),
        valid("an IPv6 address with a zone", invitation(address="[fe80::7%25eth0]:47475"),
              addresses=[{"host": "fe80::7%eth0", "port": 47475}]),
        valid("an IPv6 address with a zone, percent-encoded", invitation(address="%5Bfe80%3A%3A7%25eth0%5D%3A47475"),
              addresses=[{"host": "fe80::7%eth0", "port": 47475}]),
        valid("a host name", invitation(address="inviter.example:1"), addresses=[{"host": "inviter.example", "port": 1}]),
        valid("eight addresses, in order", invitation(address=eight),
              addresses=[{"host": text.split(":")[0], "port": 47475} for text in eight]),
        valid("items in another order", "remote-systems://join?" + "&".join(reversed(invitation().split("?")[1].split("&")))),
        valid("an item of a later version", invitation(colour="red")),
        valid("an item of a later version that is not percent-encoded", invitation(colour="%zz")),
        valid("an item without a value", invitation() + "&colour"),
        valid("white space around it", f"  {invitation()}\n"),
        valid("the last end", invitation(expires="253402300799"), expires=253402300799),
        refused("another version", "must not be read further", invitation(v="2")),
        refused("no version", "v is missing", invitation(v=None)),
        refused("no account", "account is missing", invitation(account=None)),
        refused("an account in upper case", "not an id", invitation(account=ACCOUNT.id.upper())),
        refused("no address", "one to eight addresses", invitation(address=None)),
        refused("nine addresses", "one to eight addresses", invitation(address=[*eight, "192.0.2.9:47475"])),
        refused("an address without a port", "a host and a port", invitation(address="192.0.2.7")),
        refused("port 0", "a host and a port", invitation(address="192.0.2.7:0")),
        refused("port 65536", "a host and a port", invitation(address="192.0.2.7:65536")),
        refused("an IPv6 address without brackets", "IPv6 in brackets", invitation(address="2001:db8::7:47475")),
        refused("an IPv4 address in brackets", "only IPv6 in brackets", invitation(address="[192.0.2.7]:47475")),
        refused("a zone whose % is not encoded", "% and two digits", invitation(address="[fe80::7%zone]:47475")),
        refused("a plus sign in an address", "a character that no address has", invitation(address="192.0.2.7+:47475")),
        refused("an address that is no UTF-8", "a byte of UTF-8", invitation(address="192.0.2.7%ff:47475")),
        refused("the secret twice", "given once", invitation() + f"&secret={base32(SECRET)}"),
        refused("the secret again, without a value", "given once", invitation() + "&secret"),
        refused("an end after the year 9999", "at most 253402300799", invitation(expires="253402300800")),
        refused("an end of 30 digits", "at most 253402300799", invitation(expires="9" * 30)),
        refused("an end with a sign", "decimal digits", invitation(expires="+1790000600")),
        refused("a fragment", "no #", invitation() + "#more"),
        refused("the scheme in upper case", "remote-systems://join?", "REMOTE-SYSTEMS" + invitation()[len("remote-systems"):]),
        refused("no end", "expires is missing", invitation(expires=None)),
        refused("an end that is no number", "whole seconds since 1970", invitation(expires="tomorrow")),
        refused("no secret", "secret is missing", invitation(secret=None)),
        refused("a secret of 25 characters", "26 characters", invitation(secret=base32(SECRET)[:25])),
        refused("another scheme", "remote-systems://join?", "https" + invitation()[len("remote-systems"):]),
        refused("another host", "remote-systems://join?", invitation().replace("//join?", "//leave?")),
    ]


def signing_request(key):
    builder = x509.CertificateSigningRequestBuilder(common_name("RemoteSystems system"))
    return builder.sign(key.private, hashes.SHA256(), ecdsa_deterministic=True).public_bytes(Encoding.DER)


def transcript(*parts):
    return hashlib.sha256(b"".join(struct.pack(">Q", len(part)) + part for part in parts)).digest()


def side_key(side, secret=SECRET):
    info = b"remote-systems/1 join " + side
    return HKDF(hashes.SHA256(), length=32, salt=ACCOUNT.fingerprint, info=info).derive(secret)


def data(content):
    return {"$data": base64.b64encode(content).decode()}


def message(kind, **parts):
    """A join message, as bytes and as its meaning."""
    parts = {name.replace("_", "-"): part for name, part in parts.items()}
    meaning = {name: data(part) if isinstance(part, bytes) else part for name, part in parts.items()}
    return {"hex": frame(encode([kind, parts])).hex(), "json": [kind, meaning]}


def joining():
    hello_nonce, challenge_nonce = derive("hello nonce"), derive("challenge nonce")
    request, inviter, root = signing_request(JOINER), certificate(INVITER), root_certificate(ACCOUNT)
    fields = [b"remote-systems/1 join", ACCOUNT.fingerprint, JOINER.fingerprint, INVITER.fingerprint, hello_nonce, request,
              challenge_nonce, inviter, root]
    first, second = side_key(b"joiner"), side_key(b"inviter")
    code = hmac.digest(first, transcript(*fields), "sha256")
    issued = certificate(JOINER)
    further = [*fields, code, issued, DISCOVERY_KEY]
    answer = hmac.digest(second, transcript(*further), "sha256")
    wrong = hmac.digest(side_key(b"joiner", bytes(16)), transcript(*fields), "sha256")
    foreign = certificate(INVITER, OTHER_ACCOUNT)

    hello = {"from": "joiner", **message(0, nonce=hello_nonce, request=request)}
    challenge = {"from": "inviter", **message(1, nonce=challenge_nonce, certificate=inviter, root_certificate=root)}
    proof = {"from": "joiner", **message(2, code=code)}
    accepted = {"from": "inviter", **message(3, code=answer, certificate=issued, discovery_key=DISCOVERY_KEY)}

    def refusing(reason):
        return {"from": "inviter", **message(4, reason=reason)}

    def conversation(name, outcome, *steps, **more):
        return {"name": name, "now": NOW, "invitation": invitation(), "joiner": "joiner", "inviter": "inviter",
                "outcome": outcome, "steps": steps, **more}

    fake = {"from": "inviter", **message(1, nonce=challenge_nonce, certificate=foreign, root_certificate=root_certificate(OTHER_ACCOUNT))}
    mixed = {"from": "inviter", **message(1, nonce=challenge_nonce, certificate=foreign, root_certificate=root)}
    changed = {"from": "inviter", **message(3, code=answer[:-1] + bytes([answer[-1] ^ 1]), certificate=issued,
                                           discovery_key=DISCOVERY_KEY)}
    another_key = certificate(OTHER_SYSTEM)
    answer_for_another = hmac.digest(second, transcript(*fields, code, another_key, DISCOVERY_KEY), "sha256")
    misissued = {"from": "inviter", **message(3, code=answer_for_another, certificate=another_key, discovery_key=DISCOVERY_KEY)}
    return [
        conversation("a system joins", {"joined": JOINER.id}, hello, challenge, proof, accepted, computed={
            "k1": first.hex(), "k2": second.hex(), "t": transcript(*fields).hex(), "t2": transcript(*further).hex()}),
        conversation("a wrong secret", {"refused": "wrong-secret"}, hello, challenge,
                     {"from": "joiner", **message(2, code=wrong)}, refusing("wrong-secret")),
        conversation("the ten minutes are over", {"refused": "expired"}, hello, refusing("expired"), now=EXPIRY + 1),
        conversation("a request for another key than TLS's", {"refused": "malformed"},
                     {"from": "joiner", **message(0, nonce=hello_nonce, request=signing_request(OTHER_SYSTEM))},
                     refusing("malformed")),
        conversation("a proof in place of the hello", {"refused": "malformed"}, proof, refusing("malformed")),
        conversation("whoever answers is of another account", {"stopped-by": "joiner"}, hello, fake),
        conversation("the root is right, the certificate of another account", {"stopped-by": "joiner"}, hello, mixed),
        conversation("the inviter does not know the secret", {"stopped-by": "joiner"}, hello, challenge, proof, changed),
        conversation("a certificate for another key", {"stopped-by": "joiner"}, hello, challenge, proof, misissued),
    ]


def pairing():
    """The values of pairing, from what both sides send."""
    account = HKDF(hashes.SHA256(), length=32, salt=None, info=b"remote-systems/1 pair account").derive(DISCOVERY_KEY)

    def vector(name, connecting, waiting):
        parts = []
        for side, key, intention in (("connecting", INVITER, connecting), ("waiting", JOINER, waiting)):
            nonce = derive(f"{side} nonce of {name}")
            parts.append({"key": key.name, "nonce": nonce, "intention": encode(intention), "fields": [key.fingerprint, nonce, encode(intention)]})
        t = transcript(b"remote-systems/1 pair", *parts[0]["fields"], *parts[1]["fields"])

        def key(purpose, count):
            info = b"remote-systems/1 pair " + purpose
            return HKDF(hashes.SHA256(), length=count, salt=t, info=info).derive(parts[0]["nonce"] + parts[1]["nonce"])

        digits = int.from_bytes(key(b"digits", 8)) % 1_000_000
        sides = [{"key": part["key"], "nonce": part["nonce"].hex(), "intention": part["intention"].hex()} for part in parts]
        return {
            "name": name, "connecting": sides[0], "waiting": sides[1],
            "commitment": transcript(b"remote-systems/1 pair commitment", *parts[1]["fields"]).hex(), "t": t.hex(),
            "digits": f"{digits:06}",
            "connecting-code": hmac.digest(key(b"connecting confirms", 32), t, "sha256").hex(),
            "waiting-code": hmac.digest(key(b"waiting confirms", 32), t, "sha256").hex(),
            "binding": key(b"binding", 32).hex(),
            "account": hmac.digest(account, parts[0]["fields"][0] + parts[1]["fields"][0], "sha256").hex(),
        }

    def own(name, admits, joins):
        return {"purpose": "own-account", "name": name, "admits": admits, "joins": joins}

    return [
        vector("two new machines", own("Attic", True, True), own("Cellar", True, True)),
        vector("a machine without a root key connects", own("Attic", False, True), own("Cellar", True, False)),
        vector("a link", {"purpose": "link", "name": "Ada"}, {"purpose": "link", "name": "Bo"}),
    ]


def link_offers():
    """Offers of a link as a pairing carries them, with the signature of the account's newest root key."""
    context, pairing = b"remote-systems/1 link offer", derive("binding of a pairing")

    def vector(name, signer=ACCOUNT, signed_for=pairing, context=context, chain=(), change=lambda offer: offer, **more):
        offer = encode({"roots": root_certificate(ACCOUNT) + b"".join(chain), "name": "Ada", "granted": {},
                        "number": NOW * 1000, "share": derive("share")})
        signature = signer.signature(context + ACCOUNT.fingerprint + signed_for + offer)
        return {"name": name, "hex": change(offer).hex(), "signature": signature.hex(), "binding": pairing.hex(), **more}

    def valid(name, **more):
        return vector(name, json={"account": ACCOUNT.id, "name": "Ada", "number": NOW * 1000}, **more)

    return [
        valid("an offer"),
        valid("signed by the second root, the newest", signer=SECOND_ROOT, chain=[link()]),
        vector("signed by the first root, which is replaced", chain=[link()], refused="the newest root key signs offers"),
        vector("signed by another account", signer=OTHER_ACCOUNT, refused="the signature does not hold"),
        vector("signed by a system of the account", signer=SYSTEM, refused="the signature does not hold"),
        vector("signed for another pairing", signed_for=bytes(32), refused="the signature does not hold"),
        vector("signed without its context", context=b"", refused="the signature does not hold"),
        vector("another name", change=lambda offer: offer.replace(b"Ada", b"Bob"), refused="the signature does not hold"),
        vector("cut off", change=lambda offer: offer[:-1], refused="not a dictionary"),
    ]


def pair_messages():
    nonce, code = derive("pair nonce"), derive("pair code")
    intention = encode({"purpose": "link", "name": "Ada"})

    def valid(name, kind, **parts):
        return {"name": name, **message(kind, **parts)}

    def refused(name, reason, kind, **parts):
        return {"name": name, "hex": message(kind, **parts)["hex"], "refused": reason}

    return [
        valid("commitment", 0, commitment=code),
        valid("answer", 1, nonce=nonce, intention=intention),
        valid("answer of a system with an account", 1, nonce=nonce, intention=intention, account=code),
        valid("reveal", 2, nonce=nonce, intention=intention),
        valid("confirmed", 3, code=code),
        *(valid(f"refused: {reason}", 4, reason=reason)
          for reason in ("denied", "cancelled", "timed-out", "busy", "purpose", "same-account", "malformed", "failed")),
        valid("welcome", 5, root_certificate=b"root"),
        valid("request", 6, request=b"request"),
        valid("accepted", 7, certificate=b"certificate", discovery_key=DISCOVERY_KEY),
        valid("accepted after a revocation", 7, certificate=b"certificate", discovery_key=DISCOVERY_KEY,
              signed_discovery_key=bytes(104), revocations=bytes(72)),
        valid("offer", 8, offer=b"offer", signature=bytes(64)),
        valid("done", 9),
        refused("a commitment of 31 bytes", "a commitment has 32 bytes", 0, commitment=code[1:]),
        refused("an answer without an intention", "the intention is missing", 1, nonce=nonce),
        refused("an answer with a proof of 31 bytes", "a proof has 32 bytes", 1, nonce=nonce, intention=intention,
                account=code[1:]),
        refused("a reveal with a long intention", "an intention has at most 512 bytes", 2, nonce=nonce, intention=bytes(513)),
        refused("a code of 33 bytes", "a code has 32 bytes", 3, code=code + b"0"),
        refused("an offer without a signature", "the signature is missing", 8, offer=b"offer"),
        refused("an offer with a signature of 63 bytes", "a signature has 64 bytes", 8, offer=b"offer", signature=bytes(63)),
        refused("an unknown kind", "there are ten kinds", 10),
    ]


def join_messages():
    nonce, code = derive("hello nonce"), derive("code")

    def valid(name, kind, /, **parts):
        return {"name": name, **message(kind, **parts)}

    def refused(name, reason, kind, /, **parts):
        return {"name": name, "hex": message(kind, **parts)["hex"], "refused": reason}

    def raw(name, reason, body):
        return {"name": name, "hex": frame(bytes.fromhex(body)).hex(), "refused": reason}

    def newer(name, array, meaning):
        return {"name": name, "hex": frame(encode(array)).hex(), "json": meaning, "encodes": False}

    proof = message(2, code=code)["json"]
    return [
        valid("hello", 0, nonce=nonce, request=b"request"),
        valid("hello with the longest request", 0, nonce=nonce, request=bytes(2048)),
        valid("challenge", 1, nonce=nonce, certificate=b"certificate", root_certificate=b"root"),
        valid("proof", 2, code=code),
        valid("proof with the joiner's name", 2, code=code, name="Attic"),
        valid("accepted", 3, code=code, certificate=b"certificate", discovery_key=DISCOVERY_KEY),
        valid("accepted after a revocation", 3, code=code, certificate=b"certificate", discovery_key=DISCOVERY_KEY,
              signed_discovery_key=signed_discovery_key(NOW * 1000), revocations=revocation_list(NOW * 1000, [SYSTEM])),
        refused("a signed discovery key of 103 bytes", "104 bytes", 3, code=code, certificate=b"certificate",
                discovery_key=DISCOVERY_KEY, signed_discovery_key=bytes(103)),
        refused("a revocation list of 71 bytes", "at least 72 bytes", 3, code=code, certificate=b"certificate",
                discovery_key=DISCOVERY_KEY, revocations=bytes(71)),
        *(valid(f"refused: {reason}", 4, reason=reason)
          for reason in ("expired", "already-used", "wrong-secret", "malformed", "failed", "revoked")),
        newer("a key of a newer version", [2, {"code": code, "more": 1}], proof),
        newer("an element of a newer version", [2, {"code": code}, "more"], proof),
        newer("a reason that 1.0 does not know", [4, {"reason": "full-moon"}], [4, {"reason": "failed"}]),
        refused("a nonce of 31 bytes", "32 bytes", 0, nonce=nonce[:31], request=b"request"),
        refused("a nonce of 33 bytes", "32 bytes", 0, nonce=nonce + b"\x00", request=b"request"),
        refused("a nonce that is text", "data", 0, nonce="nonce", request=b"request"),
        refused("no nonce", "a part is missing", 0, request=b"request"),
        refused("an empty request", "1 to 2048 bytes", 0, nonce=nonce, request=b""),
        refused("a request of 2049 bytes", "1 to 2048 bytes", 0, nonce=nonce, request=bytes(2049)),
        refused("an empty certificate", "1 to 4096 bytes", 1, nonce=nonce, certificate=b"", root_certificate=b"root"),
        refused("a certificate of 4097 bytes", "1 to 4096 bytes", 1, nonce=nonce, certificate=bytes(4097),
                root_certificate=b"root"),
        valid("root certificates of 7168 bytes", 1, nonce=nonce, certificate=b"certificate", root_certificate=bytes(7168)),
        refused("root certificates of 7169 bytes", "1 to 7168 bytes", 1, nonce=nonce, certificate=b"certificate",
                root_certificate=bytes(7169)),
        refused("a code of 31 bytes", "32 bytes", 2, code=code[:31]),
        refused("a name that is data", "a string", 2, code=code, name=b"Attic"),
        refused("a discovery key of 33 bytes", "32 bytes", 3, code=code, certificate=b"certificate", discovery_key=bytes(33)),
        refused("an unknown kind", "an unknown kind", 5),
        raw("no array", "not an array", "a0"),
        raw("an element missing", "an element is missing", "8102"),
        raw("a map that is an array", "not a map", "820280"),
        raw("keys out of order", "not in the one encoding", "8200a2677265717565737441004100"),
    ]


# URLs [9] and the URIs of launches [12]

def urls():
    valid = [
        ("https", "https://example.com/"), ("a query and a fragment", "http://example.com:8080/a/b?c=d/?e#f?/"),
        ("a path without slashes", "mailto:someone@example.com"), ("a URN", "urn:isbn:0451450523"),
        ("a scheme alone", "a:"), ("a scheme with digits and signs", "x-a1+b.c:/d"), ("no authority", "file:///tmp/x"),
        ("an empty query and fragment", "http://example.com/?#"), ("percent-encoded", "http://example.com/%20%C3%A9"),
        ("an IPv6 address", "http://[2001:db8::7]:80/"), ("an IPv6 address with IPv4 in it", "http://[::ffff:192.0.2.1]/"),
        ("the shortest IPv6 address", "http://[::]"), ("an address of a future version", "http://[v1.fe80::a+en1]/"),
        ("user information", "ftp://user:pass@example.com/"), ("every mark", "a:-._~!$&'()*+,;=:@/?"),
        ("upper case", "HTTPS://EXAMPLE.COM/"), ("an empty port", "http://example.com:/"),
    ]
    invalid = [
        ("no text", "", "a scheme is missing"), ("no scheme", "example.com", "a scheme is missing"),
        ("an empty scheme", ":", "the scheme is empty"), ("an empty scheme and an authority", "://x", "the scheme is empty"),
        ("a relative reference", "//example.com/", "a scheme is missing"), ("a path", "/a:b", "a scheme is missing"),
        ("a scheme that begins with a digit", "1a:b", "a scheme begins with a letter"),
        ("a scheme with an underscore", "a_b:c", "a character that no scheme has"),
        ("a space", "http://example.com/a b", "white space"), ("a space at the end", "http://example.com/ ", "white space"),
        ("a line break", "http://example.com/\n", "white space"), ("a letter beyond ASCII", "http://example.com/é", "beyond ASCII"),
        ("a host beyond ASCII", "http://exämple.com/", "beyond ASCII"), ("a NUL", "a:\0", "a control character"),
        ("a percent sign without digits", "http://example.com/%zz", "two hexadecimal digits"),
        ("a percent sign with one digit", "http://example.com/%2", "two hexadecimal digits"),
        ("two fragments", "http://example.com/#a#b", "one # at most"),
        ("an angle bracket", "http://example.com/<a>", "a character that no URI has"),
        ("a quotation mark", 'http://example.com/"a"', "a character that no URI has"),
        ("a backslash", "http://example.com\\a", "a character that no URI has"),
        ("a brace", "http://example.com/{a}", "a character that no URI has"),
        ("a bar", "http://example.com/a|b", "a character that no URI has"),
        ("a caret", "http://example.com/a^b", "a character that no URI has"),
        ("square brackets in a path", "http://example.com/[a]", "square brackets only around an IP literal"),
        ("an IP literal that is none", "http://[zz]/", "not an IP literal"),
        ("an empty IP literal", "http://[]/", "not an IP literal"),
        ("an IPv6 address with two gaps", "http://[1::2::3]/", "not an IP literal"),
        ("an IPv6 address of nine parts", "http://[1:2:3:4:5:6:7:8:9]/", "not an IP literal"),
        ("an IPv4 address in brackets", "http://[192.0.2.1]/", "not an IP literal"),
        ("an IP literal that does not end", "http://[::1/", "not an IP literal"),
        ("something behind an IP literal", "http://[::1]x/", "a port, or nothing, behind an IP literal"),
        ("a port that is no number", "http://example.com:80x/", "a port is digits"),
    ]
    return [
        *({"name": name, "hex": encode(cbor2.CBORTag(32, text)).hex(), "json": {"$url": text}} for name, text in valid),
        *({"name": name, "hex": encode(cbor2.CBORTag(32, text)).hex(), "refused": reason, "code": "message-malformed"} for name, text, reason in invalid),
    ]


def launch_uris():
    valid = ["https://example.com/a?b=c#d", "mailto:someone@example.com", "myapp:do-it", "a:", "x-a1+b.c://[::1]:80/",
             "geo:37.786971,-122.399677", "http://user@[2001:db8::7]/", "a:" + "b" * 8190, "a" * 64 + ":"]
    invalid = [
        ("", "a scheme is missing"), (":", "the scheme is empty"), ("example.com", "a scheme is missing"),
        ("1a:b", "a scheme begins with a letter"), ("a" * 65 + ":", "a scheme of more than 64 characters"),
        ("a:b c", "white space"), ("a:é", "beyond ASCII"), ("a:%zz", "two hexadecimal digits"), ("a:%00", "an encoded NUL"),
        ("a:#b#c", "one # at most"), ("a:[b]", "square brackets only around an IP literal"),
        ("http://[zz]/", "not an IP literal"), ("http://[]/", "not an IP literal"), ("a:\"b\"", "a character that no URI has"),
        ("a:" + "b" * 8191, "longer than 8192 bytes"),
    ]
    short = lambda text: text if len(text) <= 40 else f"{text[:12]}… of {len(text)} bytes"
    return [
        *({"name": short(text), "text": text, "json": {"scheme": text.split(":")[0].lower()}} for text in valid),
        *({"name": short(text) or "no text", "text": text, "refused": reason} for text, reason in invalid),
    ]


# Hand-off (Docs/wire/activities.md)

EDITING = "com.example.editing"
ACTIVITY = "5d0a6f4e-3c1b-4f5a-9e0d-2b7c8a9f1e6d"


def activity_descriptors():
    expires = cbor2.CBORTag(1, NOW + 600)
    whole = {"Type": EDITING, "Expires": expires, "Lifetime": 600}

    def record(**changes):
        return encode({key: value for key, value in {**whole, **changes}.items() if value is not None}).hex()

    def valid(name, meaning=None, **changes):
        return {"name": name, "key": ACTIVITY, "hex": record(**changes),
                "json": {"type": EDITING, "lifetime": 600, "streams": False, "webpage": False, **(meaning or {})}}

    def refused(name, reason, key=None, **changes):
        return {"name": name, "key": ACTIVITY if key is None else key, "hex": record(**changes), "refused": reason}

    return [
        valid("what is required"),
        valid("everything", {"title": "A letter", "streams": True, "webpage": True, "version": 3, "target": "window-2"},
              Title="A letter", Streams=True, Webpage=True, Version=3, Target="window-2"),
        valid("control characters in the title", {"title": "A B"}, Title="A\nB"),
        valid("a title of more than 512 bytes", {"title": "x" * 512}, Title="x" * 600),
        valid("a target of more than 1024 bytes", Target="x" * 1025),
        valid("an unknown field", Later={"Version": 2}),
        valid("the longest lifetime", {"lifetime": 86400}, Lifetime=86400),
        valid("the longest type", {"type": "a." + "b" * 254}, Type="a." + "b" * 254),
        refused("a key that is no UUID", "the key is the id of the activity", key="letter"),
        refused("no type", "the type is required", Type=None),
        refused("a type without a dot", "a type is a reversed domain name", Type="editing"),
        refused("a type with an empty part", "a type is a reversed domain name", Type="com..editing"),
        refused("a type with a space", "a type has letters, digits, '-', '_' and '.'", Type="com.example.my text"),
        refused("a type of more than 256 bytes", "a type has at most 256 bytes", Type="a." + "b" * 255),
        refused("no end", "the end is required", Expires=None),
        refused("no lifetime", "the lifetime is required", Lifetime=None),
        refused("a lifetime of zero", "1 to 86400 seconds", Lifetime=0),
        refused("a lifetime of more than a day", "1 to 86400 seconds", Lifetime=86401),
        refused("a lifetime that is text", "the lifetime is an integer", Lifetime="600"),
    ]


def activity_payloads():
    def url(text):
        return cbor2.CBORTag(32, text)

    def payload(changes):
        whole = {"Type": EDITING, "UserInfo": {"Caret": 318}, **changes}
        return encode({key: value for key, value in whole.items() if value is not None}).hex()

    def valid(name, meaning=None, offered=EDITING, **changes):
        return {"name": name, "offered": offered, "hex": payload(changes),
                "json": {"userInfo": {"Caret": 318}, "stale": False, **(meaning or {})}}

    def refused(name, reason, offered=EDITING, **changes):
        return {"name": name, "offered": offered, "hex": payload(changes), "refused": reason}

    browsing = "org.remotesystems.browsing-web"
    return [
        valid("what is required"),
        valid("everything", {"title": "A letter", "webpage": "https://example.com/letter", "stale": True},
              Title="A letter", Webpage=url("https://example.com/letter"), Referrer=url("https://example.com/"),
              Streams=True, Keywords=["letter"], Required=["Caret"], Target="window-2", Identifier="letter-17",
              Version=3, Stale=True),
        valid("an unknown key", Later={"Version": 2}),
        valid("a browser's activity", {"userInfo": {}, "webpage": "http://example.com/"}, offered=browsing,
              Type=browsing, UserInfo={}, Webpage=url("http://example.com/")),
        refused("another type than the offered one", "the type is that of the descriptor", Type="com.example.reading"),
        refused("no content", "the content is required", UserInfo=None),
        refused("a UUID in the content", "not a type of the schema userActivity",
                UserInfo={"Id": cbor2.CBORTag(37, bytes(16))}),
        refused("another scheme than http and https", "http or https", Webpage=url("ftp://example.com/")),
        refused("a password in the address", "no user name and no password",
                Webpage=url("https://me:secret@example.com/")),
        refused("an address without a host", "a host is required", Webpage=url("https:///letter")),
        refused("a file as the referrer", "http or https", Referrer=url("file:///etc/hosts")),
        refused("a script as the referrer", "http or https", Referrer=url("javascript:alert(1)")),
        refused("a browser's activity with content", "no content beside the address", offered=browsing,
                Type=browsing, Webpage=url("https://example.com/")),
        refused("a browser's activity without an address", "the address is required", offered=browsing,
                Type=browsing, UserInfo={}),
        refused("a file of the origin", "a file URL means nothing here", UserInfo={"File": url("file:///etc/passwd")}),
        refused("a document in an unknown folder", "the folder is not registered",
                UserInfo={"File": url("doc-root:letters/a")}),
        refused("more than 64 KiB", "at most 65536 bytes", UserInfo={"Text": "x" * 65536}),
    ]


def notifications():
    def notification(changes):
        whole = {"Id": "deploy", "Content": {"Title": "Deploy?"}, **changes}
        return encode({key: value for key, value in whole.items() if value is not None}).hex()

    def valid(name, meaning=None, **changes):
        return {"name": name, "hex": notification(changes),
                "json": {"id": "deploy", "title": "Deploy?", "body": "", "level": "active", "actions": [], **(meaning or {})}}

    def refused(name, reason, **changes):
        return {"name": name, "hex": notification(changes), "refused": reason}

    category = {"Id": "question", "Actions": [
        {"Id": "yes", "Title": "Deploy"},
        {"Id": "why", "Title": "Wait", "Options": 3, "Text": {"Button": "Send", "Placeholder": "Because"}},
    ]}
    content = {"Title": "Deploy?", "Category": "question"}
    photo = {"Id": "photo", "Digest": bytes(range(32)), "Size": 10_000_000, "Type": "image/jpeg"}

    def attached(*attachments):
        return {"Title": "Deploy?", "Attachments": list(attachments)}

    return [
        valid("what is required"),
        valid("everything", {"body": "1284 has passed", "level": "time-sensitive", "actions": ["yes", "why"]},
              Content={"Title": "Deploy?", "Subtitle": "main", "Body": "1284 has passed", "Sound": "default", "Badge": 3,
                       "UserInfo": {"Build": 1284}, "Thread": "builds", "Category": "question",
                       "Level": "time-sensitive", "Relevance": 0.5, "Target": "window-2", "Filter": "work"},
              Category=category, Name="Build server", ExpiresIn=600, Shared=True, Mutable=True, ContentAvailable=True,
              ForApplication="com.example.builds",
              Delivery=uuid.UUID("6f9619ff-8b86-d011-b42d-00cf4fc964ff")),
        valid("Apple's form", {"body": "1284"}, Content=None,
              Payload={"aps": {"alert": {"title": "Deploy?", "body": "1284"}}, "build": 1284}),
        valid("an unknown key", Later={"Version": 2}),
        valid("an unknown level", Content={"Title": "Deploy?", "Level": "deafening"}),
        valid("attachments", {"attachments": ["photo", "sound"]},
              Content=attached({**photo, "Hidden": True}, {**photo, "Id": "sound", "Type": "audio/mpeg", "Size": 1})),
        valid("an attachment of an unknown format", Content=attached({**photo, "Type": "image/jxl"})),
        refused("an attachment without its digest", "the digest is required",
                Content=attached({key: value for key, value in photo.items() if key != "Digest"})),
        refused("a digest of 31 bytes", "32 bytes", Content=attached({**photo, "Digest": bytes(31)})),
        refused("an empty attachment", "1 to 50000000", Content=attached({**photo, "Size": 0})),
        refused("a large attachment", "1 to 50000000", Content=attached({**photo, "Size": 50_000_001})),
        refused("two attachments with one identifier", "each identifier once", Content=attached(photo, photo)),
        refused("nine attachments", "at most 8",
                Content=attached(*({**photo, "Id": str(n)} for n in range(9)))),
        refused("no identifier", "the identifier is required", Id=None),
        refused("an empty identifier", "1 to 128 bytes", Id=""),
        refused("a long identifier", "1 to 128 bytes", Id="x" * 129),
        refused("a line break in the identifier", "no control characters", Id="a\nb"),
        refused("a title that is a number", "a string", Content={"Title": 1}),
        refused("a long title", "at most 512 bytes", Content={"Title": "x" * 513}),
        refused("a badge below 0", "0 to 999999", Content={"Title": "Deploy?", "Badge": -1}),
        refused("a relevance above 1", "0 to 1", Content={"Title": "Deploy?", "Relevance": 1.5}),
        refused("another category than that of the content", "the same category",
                Content={"Title": "Deploy?", "Category": "other"}, Category=category),
        refused("a reserved action", "default and dismiss are reserved", Content=content,
                Category={"Id": "question", "Actions": [{"Id": "dismiss", "Title": "x"}]}),
        refused("one action twice", "each action once", Content=content,
                Category={"Id": "question", "Actions": [{"Id": "yes", "Title": "x"}, {"Id": "yes", "Title": "y"}]}),
        refused("eleven actions", "at most 10", Content=content,
                Category={"Id": "question", "Actions": [{"Id": str(n), "Title": "x"} for n in range(11)]}),
        refused("an expiration of 0", "1 to 2592000", ExpiresIn=0),
        refused("an empty application", "1 to 128 bytes", ForApplication=""),
        refused("a delivery that is a text", "a UUID", Delivery="today"),
        refused("user info of 17 levels", "at most 16 levels",
                Content={"Title": "Deploy?", "UserInfo": functools.reduce(lambda inner, _: {"Inner": inner}, range(16), {})}),
        refused("more than 4096 bytes", "at most 4096 bytes", Content={"Title": "Deploy?", "Body": "x" * 4096}),
    ]


def notification_states():
    def record(status, age=0, until=None, **fields):
        dates = {"Date": cbor2.CBORTag(1, NOW - age)} | ({"Until": cbor2.CBORTag(1, NOW + until)} if until else {})
        return encode({"Status": status, **dates, **fields}).hex()

    def valid(name, received, status, known=None, read=False, until=None):
        return {"name": name, "at": NOW, "hex": received, **({"known": known} if known else {}),
                "json": {"status": status, "read": read, **({"until": NOW + until} if until else {})}}

    def refused(name, reason, received):
        return {"name": name, "at": NOW, "hex": received, "refused": reason}

    return [
        valid("an end", record("dismissed"), "dismissed"),
        valid("a notification that was read", record("waiting", Read=True), "waiting", read=True),
        valid("a snooze", record("waiting", until=600), "waiting", until=600),
        valid("an unknown key", record("waiting", until=600, Later=1), "waiting", until=600),
        valid("a greater end", record("activated"), "activated", known=record("withdrawn")),
        valid("a lesser end", record("withdrawn"), "dismissed", known=record("dismissed", 60)),
        valid("an end that is read", record("dismissed", until=600, Read=True), "dismissed"),
        refused("another status", "ignored", record("archived")),
        refused("no date", "the date is required", encode({"Status": "dismissed"}).hex()),
        refused("an end before 31 days", "known for 31 days", record("dismissed", 31 * DAY)),
        refused("a snooze of 31 days", "less than 31 days", record("waiting", until=31 * DAY)),
    ]


def notification_state_keys():
    delivery = f"{SYSTEM.id}.6f9619ff-8b86-d011-b42d-00cf4fc964ff"

    def digest(text):
        return base64.b32encode(hashlib.sha256(text.encode()).digest()[:16]).decode().rstrip("=").lower()

    def vector(name, key, **fields):
        system, _, identifier = delivery.partition(".")
        record = {"Date": cbor2.CBORTag(1, NOW)} | fields
        return {"name": name, "system": system, "delivery": identifier, "hex": encode(record).hex(), "json": {"key": key}}

    until = cbor2.CBORTag(1, NOW + 600)
    return [
        vector("an end", delivery, Status="dismissed"),
        vector("read", f"{digest(delivery)}.{digest(f'{delivery} read')}", Status="waiting", Read=True),
        vector("snoozed", f"{digest(delivery)}.{digest(f'{delivery} {NOW + 600}')}", Status="waiting", Until=until),
        vector("read and snoozed", f"{digest(delivery)}.{digest(f'{delivery} read {NOW + 600}')}", Status="waiting",
               Read=True, Until=until),
    ]


def notification_triggers():
    def date(text):
        return int(datetime.datetime.fromisoformat(text).timestamp())

    def valid(name, after, dates, trigger):
        return {"name": name, "hex": encode(trigger).hex(), "after": date(after),
                "json": {"dates": [date(text) for text in dates]}}

    def refused(name, reason, trigger):
        return {"name": name, "hex": encode(trigger).hex(), "refused": reason}

    def berlin(**components):
        return {"Date": components, "TimeZone": "Europe/Berlin", "Repeats": True}

    start = "2026-03-28T00:00:00+00:00"
    return [
        valid("an interval", start, ["2026-03-28T00:05:00+00:00"], {"Milliseconds": 300_000}),
        valid("a time of the day", start, ["2026-03-28T08:30:00+00:00", "2026-03-29T07:30:00+00:00"],
              berlin(Hour=9, Minute=30)),
        valid("a time that daylight saving time omits", start,
              ["2026-03-28T01:30:00+00:00", "2026-03-29T01:00:00+00:00", "2026-03-30T00:30:00+00:00"],
              berlin(Hour=2, Minute=30)),
        valid("a time that occurs twice", "2026-10-24T12:00:00+00:00",
              ["2026-10-25T00:30:00+00:00", "2026-10-26T01:30:00+00:00"], berlin(Hour=2, Minute=30)),
        valid("29 February", start, ["2028-02-28T23:00:00+00:00", "2032-02-28T23:00:00+00:00"], berlin(Month=2, Day=29)),
        valid("the second Tuesday", start, ["2026-04-13T22:00:00+00:00", "2026-05-11T22:00:00+00:00"],
              berlin(Weekday=3, WeekdayOrdinal=2)),
        valid("30 February", start, [], berlin(Month=2, Day=30)),
        valid("a year that is over", start, [], berlin(Year=2025)),
        refused("an interval of 0", "at least 1", {"Milliseconds": 0}),
        refused("a repeated interval below a minute", "at least 60000 if it repeats",
                {"Milliseconds": 59_999, "Repeats": True}),
        refused("no date", "one of the keys", {}),
        refused("a date without a component", "at least one component", {"Date": {}}),
        refused("hour 24", "0 to 23", {"Date": {"Hour": 24}}),
        refused("an hour that is a text", "an integer", {"Date": {"Hour": "9"}}),
        refused("an unknown time zone", "a name of the IANA database", {"Date": {"Hour": 9}, "TimeZone": "Mars/Olympus"}),
    ]


def document_urls():
    def valid(path, text):
        return {"name": path, "text": text, "json": {"path": path}}

    def refused(name, reason, text):
        return {"name": name, "text": text, "refused": reason}

    return [
        valid("letter.txt", "doc-root:notes/letter.txt"), valid("2026/a b", "doc-root:notes/2026/a%20b"),
        valid("é/%", "doc-root:notes/%C3%A9/%25"), valid("..a/b..", "doc-root:notes/..a/b.."),
        refused("another folder", "the folder is not registered", "doc-root:other/letter.txt"),
        refused("no folder", "the folder is not registered", "doc-root:/letter.txt"),
        refused("no path", "a part is required", "doc-root:notes"),
        refused("an empty part", "a part is not empty", "doc-root:notes//letter.txt"),
        refused("a slash at the end", "a part is not empty", "doc-root:notes/letter.txt/"),
        refused("a dot", "a part is not '.'", "doc-root:notes/./letter.txt"),
        refused("two dots", "a part is not '..'", "doc-root:notes/../letter.txt"),
        refused("encoded dots", "a part is not '..'", "doc-root:notes/%2E%2e/letter.txt"),
        refused("an encoded slash", "no encoded slash", "doc-root:notes/a%2Fb"),
        refused("an encoded NUL", "no encoded NUL", "doc-root:notes/a%00b"),
        refused("bytes that are not UTF-8", "a part is UTF-8", "doc-root:notes/%FF"),
    ]


def point(key):
    return key.private.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)


def publisher_chain(*keys, signer=None, number=None):
    """The first key, and each further one with the signature of its predecessor."""
    chain = [point(keys[0])]
    for index, key in enumerate(keys[1:], 2):
        statement = (b"remote-systems/1 publisher key" + keys[0].fingerprint + bytes([number or index]) + point(key))
        chain.append(point(key) + (signer or keys[index - 2]).signature(statement))
    return chain


def publishers():
    """Manifests: their publisher, and the content that is signed."""
    first, second, third = SYSTEM, OTHER_SYSTEM, THIRD_SYSTEM
    content = {"id": "com.example.editor", "activityTypes": ["com.example.editing"],
               "start": {"exec": ["/usr/bin/editor"]}}

    def manifest(chain, signer, publisher=first, context=b"remote-systems/1 manifest", changed=None, signed=None):
        object = {"id": publisher.id, "keys": [base64.b64encode(link).decode() for link in chain]}
        bytes = context + encode({**content, "publisher": object})
        signature = signed if signed is not None else signer.signature(bytes)
        return {**content, **(changed or {}),
                "publisher": {**object, "signature": base64.b64encode(signature).decode()}}

    def valid(name, manifest, keys):
        return {"name": name, "text": json.dumps(manifest), "json": {"publisher": first.id, "keys": keys}}

    def refused(name, reason, manifest):
        return {"name": name, "text": json.dumps(manifest), "refused": reason}

    one, two = publisher_chain(first), publisher_chain(first, second)
    three = publisher_chain(first, second, third)
    return [
        valid("signed with the first key", manifest(one, first), 1),
        valid("signed with a successor", manifest(two, second), 2),
        valid("signed with the third key", manifest(three, third), 3),
        valid("signed with a key that was replaced", manifest(three, first), 3),
        refused("signed with another key", "the signature does not hold", manifest(one, second)),
        refused("a changed type", "the signature does not hold",
                manifest(one, first, changed={"activityTypes": ["com.example.stealing"]})),
        refused("a further key in the file", "the signature does not hold",
                manifest(one, first, changed={"executables": ["/usr/bin/other"]})),
        refused("signed without its context", "the signature does not hold", manifest(one, first, context=b"")),
        refused("another publisher's id", "the id is that of the first key", manifest(one, first, publisher=second)),
        refused("no keys", "1 to 16 keys", manifest([], first)),
        refused("a link that the wrong key signed", "the link does not hold",
                manifest(publisher_chain(first, second, signer=third), second)),
        refused("a link with another number", "the link does not hold",
                manifest(publisher_chain(first, second, number=3), second)),
        refused("links in another order", "the link does not hold", manifest([three[0], three[2], three[1]], third)),
        refused("a key twice", "each key once", manifest([two[0], two[1], two[1]], second)),
        refused("a signature that is cut off", "64 bytes", manifest(one, first, signed=bytes(63))),
    ]


def vouchers():
    editor, activity = "com.example.editor", bytes.fromhex("5d0a6f4e3c1b4f5a9e0d2b7c8a9f1e6d")

    def voucher(proof="proven", publisher=THIRD_SYSTEM, key=SYSTEM, signer=SYSTEM, context=b"remote-systems/1 voucher",
                changed=None, **changes):
        content = {"Application": editor, "Audience": OTHER_SYSTEM.id, "Activity": cbor2.CBORTag(37, activity),
                   "Key": point(key), "Proof": proof, **changes}
        if publisher:
            content["Publisher"] = publisher.id
        content["Signature"] = signer.signature(context + encode(content))
        return encode({**content, **(changed or {})})

    def valid(name, data, proof, publisher=None):
        return {"name": name, "hex": data.hex(), "json": {"proof": proof, **({"publisher": publisher} if publisher else {})}}

    def refused(name, reason, data):
        return {"name": name, "hex": data.hex(), "refused": reason}

    # Each is presented by com.example.editor of the first system to the second one, for this activity.
    return [
        valid("proven", voucher(), "proven", THIRD_SYSTEM.id),
        valid("unproven, with the publisher of the manifest", voucher("unproven"), "unproven", THIRD_SYSTEM.id),
        valid("unproven", voucher("unproven", None), "unproven"),
        valid("unsigned", voucher("unsigned", None), "unsigned"),
        valid("an invalid signature of the manifest", voucher("invalid", None), "invalid"),
        refused("of another application", "the application is the presenting one", voucher(Application="com.example.other")),
        refused("for another system", "the audience is the receiving system", voucher(Audience=SYSTEM.id)),
        refused("for another activity", "the activity is the one that is handed over",
                voucher(Activity=cbor2.CBORTag(37, bytes(16)))),
        refused("of another system", "the key is that of the peer", voucher(key=OTHER_SYSTEM, signer=OTHER_SYSTEM)),
        refused("signed with another key", "the signature does not hold", voucher(signer=OTHER_SYSTEM)),
        refused("signed without its context", "the signature does not hold", voucher(context=b"")),
        refused("a changed proof", "the signature does not hold", voucher("unproven", changed={"Proof": "proven"})),
        refused("a changed publisher", "the signature does not hold", voucher(changed={"Publisher": SYSTEM.id})),
        refused("proven without a publisher", "proven has a publisher", voucher("proven", None)),
        refused("an unknown proof", "an unknown proof", voucher("trusted")),
        refused("no bytes", "not a dictionary", b""),
    ]


def lists():
    return {
        "about": ABOUT,
        "keys": [key.vector() for key in KEYS],
        "account": {"id": ACCOUNT.id, "root-certificate": root_certificate(ACCOUNT).hex(), "discovery-key": DISCOVERY_KEY.hex(),
                    "now": NOW},
        "urls": urls(),
        "launch-uris": launch_uris(),
        "certificates": certificates(),
        "tags": tags(),
        "revocation-lists": revocation_lists(),
        "discovery-keys": discovery_keys(),
        "link-lists": link_lists(),
        "link-withdrawals": link_withdrawals(),
        "linked-accounts": linked_accounts(),
        "linked-records": linked_records(),
        "link-offers": link_offers(),
        "invitations": invitations(),
        "join-messages": join_messages(),
        "joining": joining(),
        "pair-messages": pair_messages(),
        "pairing": pairing(),
        "activity-descriptors": activity_descriptors(),
        "activity-payloads": activity_payloads(),
        "document-urls": document_urls(),
        "notifications": notifications(),
        "notification-triggers": notification_triggers(),
        "notification-states": notification_states(),
        "notification-state-keys": notification_state_keys(),
        "publishers": publishers(),
        "vouchers": vouchers(),
        "conversations": conversations.vectors(),
    }


def main(command, path):
    with open(path, encoding="utf-8") as file:
        now = json.load(file)
    made = json.loads(json.dumps(lists()))
    if command == "write":
        write(path, {**{name: made[name] for name in ("about", "keys", "account")},
                     **{name: now[name] for name in ("frames", "values")}, **made})
        return 0
    different = [name for name, content in made.items() if now.get(name) != content]
    for name in different:
        print(f"{name}: not what make_wire_vectors.py makes; run it with 'write'")
    if not different:
        print("all right")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
