# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Serves the files of a directory over HTTP, with ranges, so that players can seek.

Usage: media_server.py DIRECTORY ADDRESS

Prints the port, then each request.
"""

import http.server
import os
import re
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    def send_head(self):
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        path = self.translate_path(self.path)
        if not wanted or not os.path.isfile(path):
            return super().send_head()
        size = os.path.getsize(path)
        first = int(wanted[1])
        last = min(int(wanted[2] or size - 1), size - 1)
        if first > last:
            self.send_error(416)
            return None
        file = open(path, "rb")
        file.seek(first)
        self.send_response(206)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        return file

    def end_headers(self):
        self.send_header("Accept-Ranges", "bytes")
        super().end_headers()

    def copyfile(self, source, output):
        try:
            super().copyfile(source, output)
        except (BrokenPipeError, ConnectionResetError):
            pass  # The player seeks.

    def log_message(self, form, *values):
        print(form % values, flush=True)


os.chdir(sys.argv[1])
server = http.server.ThreadingHTTPServer((sys.argv[2], 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
