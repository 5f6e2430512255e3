# A small real model on this machine. Source it after need.sh; `start_model` sets MODEL_ENDPOINT.

MODEL_PORT=${MODEL_PORT:-18437}
MODEL_ENDPOINT=http://127.0.0.1:$MODEL_PORT/v1

start_model() {
    if model_answers; then return 0; fi
    need_venv "$root/target/model-venv" "$root/scripts/model-requirements.txt" --no-deps
    say "starting a small local model (SmolLM2, 135 million parameters)"
    "$root/target/model-venv/bin/python" "$root/scripts/serve-model.py" "$MODEL_PORT" >"$root/target/model.log" 2>&1 &
    MODEL_PID=$!
    trap 'kill "$MODEL_PID" 2>/dev/null || true' EXIT
    for _ in $(seq 1 240); do
        if model_answers; then return 0; fi
        kill -0 "$MODEL_PID" 2>/dev/null || die "the model server ended: $(tail -3 "$root/target/model.log")"
        sleep 0.25
    done
    die "the model server does not answer; see target/model.log"
}

model_answers() {
    python3 - "$MODEL_PORT" <<'PY'
import sys, urllib.request
try:
    with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/health", timeout=2) as answer:
        sys.exit(0 if answer.status == 200 else 1)
except OSError:
    sys.exit(1)
PY
}
