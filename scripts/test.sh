#!/usr/bin/env bash
# Everything that CI runs. Sets up what the tests need first; safe to run again.
set -euo pipefail
source "$(dirname "$0")/need.sh"
cd "$root"

need_cargo
need_debian bwrap bubblewrap
need_debian strace strace
need_debian script bsdutils
need_debian git git
need_debian python3 python3 python3-venv
need_debian node nodejs npm
export MONO_AGENT_TEST_SERVERS=${MONO_AGENT_TEST_SERVERS:-$root/target/test-servers}
scripts/test-servers.sh
need_venv "$root/target/model-venv" scripts/model-requirements.txt --no-deps
need_venv "$root/target/embedding-venv" scripts/embedding-requirements.txt --no-deps
WORDLLAMA_DIR=$(echo "$root"/target/embedding-venv/lib/python3*/site-packages/wordllama)
export WORDLLAMA_DIR

scripts/web.sh

say "formatting"
cargo fmt --all -- --check
say "lints"
cargo clippy --workspace --all-targets --quiet -- -D warnings
say "tests"
source scripts/model.sh
start_model
export HOST_MODEL_TEST_ENDPOINT=$MODEL_ENDPOINT
cargo test --workspace --no-fail-fast
scripts/web-test.sh
say "MCP conformance of the client"
scripts/conformance.sh
say "the demo answers"
scripts/demo.sh "What is the code word in notes.txt?" | tee target/demo-answer.txt
grep -qi heron target/demo-answer.txt || die "the demo did not find the code word"
say "all tests passed"
