# shellcheck shell=bash
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

# Extracts the symbol graphs of the libraries from the debug build, which the tests also use. Source this file after
# common.sh.
#
# It calls the extractor directly, because `swift package dump-symbol-graph` would build everything again with other
# settings.

# library_targets: prints the Swift library targets of the package, one per line.
library_targets() {
    swift package --package-path "$ROOT" dump-package </dev/null 2>/dev/null | python3 -c '
import json, sys
for target in json.load(sys.stdin)["targets"]:
    if target["type"] == "regular":
        print(target["name"])'
}

# library_products: prints the library products, one per line. Each has a target of the same name.
library_products() {
    swift package --package-path "$ROOT" dump-package </dev/null 2>/dev/null | python3 -c '
import json, sys
for product in json.load(sys.stdin)["products"]:
    if "library" in product["type"]:
        print(product["name"])'
}

# build_libraries LOG: updates the debug build and prints its path to standard output.
build_libraries() {
    quietly "$1" swift build --package-path "$ROOT" || exit "$EX_SOFTWARE"
    swift build --package-path "$ROOT" --show-bin-path </dev/null
}

# extract_symbol_graph BIN_PATH MODULE DIRECTORY [REEXPORTED,MODULES]: writes MODULE's symbol graphs into DIRECTORY.
extract_symbol_graph() {
    local bin_path=$1 module=$2 directory=$3 reexported=${4:-} arguments=() map
    # The C modules that the libraries were compiled with: those in their sources, and those that SwiftPM generated.
    while IFS= read -r -d '' map; do
        arguments+=(-Xcc "-fmodule-map-file=$map")
    done < <(
        find -L "$bin_path" -mindepth 2 -maxdepth 2 -name module.modulemap -print0
        find "$ROOT/Sources" "$ROOT/.build/checkouts" -path '*/Sources/*' -name module.modulemap -print0 2>/dev/null
    )
    # The include paths of system libraries outside the default path. SwiftPM also gets them from pkg-config.
    local flag
    for flag in $(pkg-config --cflags-only-I gobject-2.0 2>/dev/null || true); do
        arguments+=(-Xcc "$flag")
    done
    [[ -z $reexported ]] || arguments+=("-experimental-allowed-reexported-modules=$reexported")
    mkdir -p "$directory"
    swift symbolgraph-extract \
        -module-name "$module" \
        -target "$(swift -print-target-info </dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["triple"])')" \
        -I "$bin_path/Modules" \
        -module-cache-path "$bin_path/ModuleCache" \
        -minimum-access-level public \
        -skip-synthesized-members \
        -emit-extension-block-symbols \
        -output-dir "$directory" \
        "${arguments[@]}"
}
