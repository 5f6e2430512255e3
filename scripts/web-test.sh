#!/usr/bin/env bash
# Tests the console's pages: types, unit tests, and a real Chromium in front of the mock server and, where it is built,
# of the real program. Pictures of every screen are left in target/console-shots.
set -euo pipefail
source "$(dirname "$0")/need.sh"
cd "$root"

need_debian chromium chromium
scripts/web.sh
cd web
say "the console's pages: types and unit tests"
npm run --silent check
npm run --silent test
say "the console's pages in Chromium"
# In front of the real program too, where it is built.
program=$CARGO_TARGET_DIR/debug/mono-agent
if [ -x "$program" ]; then export MONO_AGENT_BIN=${MONO_AGENT_BIN:-$program}; fi
CHROMIUM=$(command -v chromium) CONSOLE_SHOTS=${CONSOLE_SHOTS:-$root/target/console-shots} npm run --silent test:browser
