#!/usr/bin/env bash
# Tests the console's pages: types, unit tests, and a real Chromium against the mock server. Pictures of every screen
# are left in target/console-shots.
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
CHROMIUM=$(command -v chromium) CONSOLE_SHOTS=${CONSOLE_SHOTS:-$root/target/console-shots} npm run --silent test:browser
