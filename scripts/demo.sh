#!/usr/bin/env bash
# Builds, sets a small local model up and opens a chat on it; with a prompt, answers once and exits.
set -euo pipefail
source "$(dirname "$0")/need.sh"
source "$(dirname "$0")/model.sh"
cd "$root"

need_cargo
need_debian python3 python3 python3-venv
command -v bwrap >/dev/null || [ "$(id -u)" != 0 ] || need_debian bwrap bubblewrap
say "building"
cargo build --quiet -p mono-agent
start_model

# The demo agent works on a copy, so that the repository stays as it is.
agent=$root/target/demo-agent
mkdir -p "$agent"
cp -r examples/demo-agent/. "$agent"
export MONO_AGENT_PROVIDERS_JSON="{\"small\": {\"type\": \"openai_compat\", \"baseUrl\": \"$MODEL_ENDPOINT\", \"toolCalling\": \"schema\"}}"

if [ -n "${1:-}" ]; then
    "$CARGO_TARGET_DIR/debug/mono-agent" run --agent "$agent" "$1"
else
    say "chatting with a small model: ask it to read notes.txt; Ctrl-D ends it"
    "$CARGO_TARGET_DIR/debug/mono-agent" chat --agent "$agent"
fi
