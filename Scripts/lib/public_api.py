#!/usr/bin/env python3
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Prints the public API of symbol graphs, one line per symbol, in an order that keeps differences readable.

Usage: public_api.py FOLDER…   each folder contains the symbol graphs of the module of the same name
"""

import json
import pathlib
import sys

# Types conform to these implicitly. The conformances are not part of the promised API.
IMPLIED = {"Swift.Copyable", "Swift.Escapable", "Swift.SendableMetatype", "Swift.BitwiseCopyable"}


def qualified(identifier, names, fallback):
    return names.get(identifier) or fallback or identifier


def lines(folder):
    symbols, conformances, names = {}, {}, {}
    graphs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.symbols.json"))]
    for graph in graphs:
        for symbol in graph["symbols"]:
            names[symbol["identifier"]["precise"]] = ".".join(symbol["pathComponents"])
    for graph in graphs:
        for symbol in graph["symbols"]:
            kind = symbol["kind"]["identifier"]
            if kind == "swift.extension":
                continue
            path = ".".join(symbol["pathComponents"])
            declaration = "".join(part["spelling"] for part in symbol.get("declarationFragments", []))
            declaration = " ".join(declaration.split())
            symbols[(path, declaration)] = f"{path}: {declaration}"
        for relationship in graph["relationships"]:
            if relationship["kind"] not in ("conformsTo", "inheritsFrom"):
                continue
            target = qualified(relationship["target"], names, relationship.get("targetFallback"))
            source = qualified(relationship["source"], names, relationship.get("sourceFallback"))
            if target not in IMPLIED and not relationship["source"].startswith("s:e:"):
                conformances.setdefault(source, set()).add(target.removeprefix("Swift."))
    found = sorted(symbols.items())
    out = [line for _, line in found]
    out += [f"{name} : {', '.join(sorted(targets))}" for name, targets in conformances.items()]
    return sorted(out, key=lambda line: (line.split(": ")[0].rstrip(" "), line))


def main():
    for argument in sys.argv[1:]:
        folder = pathlib.Path(argument)
        print(f"\n# {folder.name}\n")
        for line in lines(folder):
            print(line)


if __name__ == "__main__":
    main()
