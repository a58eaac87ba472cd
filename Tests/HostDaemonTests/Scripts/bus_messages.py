# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""D-Bus messages as bytes, with attached files, which the usual programs neither send nor return."""

import array
import os
import socket
import struct

NAME = b"org.remotesystems.Registry1"
PATH = b"/org/remotesystems/Registry1"


def pad(data, to):
    return data + bytes(-len(data) % to)


def text(value):
    return struct.pack("<I", len(value)) + value + b"\0"


def field(code, kind, value):
    return struct.pack("<BB", code, 1) + kind + b"\0" + value


class Bus:
    """A connection to the bus at a path, as a user."""

    def __init__(self, path, user):
        os.setuid(user)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.socket.sendall(b"\0AUTH EXTERNAL " + str(user).encode().hex().encode() + b"\r\n")
        assert b"OK" in self.socket.recv(1000)
        self.socket.sendall(b"NEGOTIATE_UNIX_FD\r\n")
        assert b"AGREE" in self.socket.recv(1000)
        self.socket.sendall(b"BEGIN\r\n")
        self.serial, self.received, self.files = 0, b"", []
        self.call(b"org.freedesktop.DBus", b"/org/freedesktop/DBus", b"org.freedesktop.DBus", b"Hello")
        self.response(1)

    def send(self, kind, fields, body=b"", files=()):
        self.serial += 1
        if files:
            fields = fields + [field(9, b"u", struct.pack("<I", len(files)))]
        data = b""
        for one in fields:
            data = pad(data, 8) + one
        start = b"l" + bytes([kind, 0, 1]) + struct.pack("<III", len(body), self.serial, len(data))
        message = start + pad(data, 8) + body
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        sent = self.socket.sendmsg([message], ancillary)
        self.socket.sendall(message[sent:])
        return self.serial

    def call(self, name, path, interface, member, signature=b"", body=b"", files=()):
        fields = [field(1, b"o", text(path)), field(6, b"s", text(name)), field(3, b"s", text(member))]
        if interface:
            fields.append(field(2, b"s", text(interface)))
        if signature:
            fields.append(field(8, b"g", bytes([len(signature)]) + signature + b"\0"))
        return self.send(1, fields, body, files)

    def respond(self, serial, name, signature, body, files):
        fields = [
            field(5, b"u", struct.pack("<I", serial)), field(6, b"s", text(name)),
            field(8, b"g", bytes([len(signature)]) + signature + b"\0"),
        ]
        self.send(2, fields, body, files)

    def next(self):
        """The next message: its kind, its fields by their codes, its body, and its serial number."""
        while True:
            if len(self.received) >= 16:
                length, serial, fields = struct.unpack("<III", self.received[4:16])
                end = 16 + fields + (-fields % 8)
                if len(self.received) >= end + length:
                    message, self.received = self.received[:end + length], self.received[end + length:]
                    return message[1], self.fields(message[16:16 + fields]), message[end:], serial
            data, extra, _, _ = self.socket.recvmsg(65536, 1000)
            if not data:
                raise EOFError("the bus has closed the connection")
            self.received += data
            for _, _, content in extra:
                self.files.extend(array.array("i", content))

    @staticmethod
    def fields(data):
        found, at = {}, 0
        while at < len(data):
            at += -at % 8
            if at >= len(data):
                break
            code, kind = data[at], data[at + 2:at + 3]
            at += 4
            if kind in b"so":
                length = struct.unpack_from("<I", data, at)[0]
                found[code] = data[at + 4:at + 4 + length]
                at += 5 + length
            elif kind == b"u":
                found[code] = struct.unpack_from("<I", data, at)[0]
                at += 4
            else:
                found[code] = data[at + 1:at + 1 + data[at]]
                at += 2 + data[at]
        return found

    def response(self, serial):
        """The response to a call: its kind (2 or 3), the name of the error or None, and its body."""
        while True:
            kind, fields, body, _ = self.next()
            if kind in (2, 3) and fields.get(5) == serial:
                return kind, fields.get(4), body
