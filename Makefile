# Two commands do everything: `make demo` and `make test`. Both set up what is missing.
.PHONY: demo test fmt lint docs bench help

help:
	@echo "make demo [PROMPT=\"…\"]   build, set up a small local model, and chat with an agent on it"
	@echo "make test                  set up what the tests need and run everything that CI runs"
	@echo "make docs                  write the generated pages of docs/ anew"
	@echo "make bench                 run every benchmark (release build)"

demo:
	@scripts/demo.sh "$(PROMPT)"

test:
	@scripts/test.sh

fmt:
	cargo fmt --all

lint:
	cargo clippy --workspace --all-targets -- -D warnings

docs:
	UPDATE_DOCS=1 cargo test --workspace --quiet docs_ -- --nocapture

bench:
	cargo run --release -p host-bench -- all
