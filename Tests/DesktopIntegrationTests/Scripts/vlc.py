# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Runs VLC without a window and without sound, on the session bus. Root may run it, unlike the program `vlc`.

Usage: vlc.py [ADDRESS…]

Prints "ready", and plays the addresses.
"""

import ctypes
import signal
import sys

vlc = ctypes.CDLL("libvlc.so.5")
vlc.libvlc_new.restype = ctypes.c_void_p
vlc.libvlc_new.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
vlc.libvlc_add_intf.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
vlc.libvlc_playlist_play.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]

arguments = [
    "--ignore-config", "--aout=dummy", "--vout=dummy", "--no-media-library", "--no-metadata-network-access",
    *sys.argv[1:],
]
instance = vlc.libvlc_new(len(arguments), (ctypes.c_char_p * len(arguments))(*map(str.encode, arguments)))
if not instance or vlc.libvlc_add_intf(instance, b"dbus,none") != 0:
    sys.exit("VLC did not start")
if sys.argv[1:]:
    vlc.libvlc_playlist_play(instance, -1, 0, None)
print("ready", flush=True)
signal.pause()
