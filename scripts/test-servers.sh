#!/usr/bin/env bash
# Installs the published MCP servers that the tests attach, pinned by tests/servers/, into one folder:
# $MONO_AGENT_TEST_SERVERS, else target/test-servers. Does nothing where they are there already.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
folder="${MONO_AGENT_TEST_SERVERS:-$here/target/test-servers}"
pins="$here/tests/servers"
stamp="$(cat "$pins/package-lock.json" "$pins/requirements.txt" | sha256sum | cut -d' ' -f1)"

if [ -f "$folder/.stamp" ] && [ "$(cat "$folder/.stamp")" = "$stamp" ]; then
    exit 0
fi

mkdir -p "$folder"
exec 9>"$folder/.lock"
flock 9
if [ -f "$folder/.stamp" ] && [ "$(cat "$folder/.stamp")" = "$stamp" ]; then
    exit 0
fi

cp "$pins/package.json" "$pins/package-lock.json" "$folder/"
(cd "$folder" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error)
[ -x "$folder/venv/bin/python" ] || python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$pins/requirements.txt"
echo "$stamp" >"$folder/.stamp"
