#!/usr/bin/env python3
"""A llama-server for the live tests: the one of llama.cpp inside the package xllamacpp.

Takes the arguments that the tests give to llama-server and ignores the rest. One thread, no GPU.
"""
import sys
import threading

import xllamacpp


def option(name, default=None):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


params = xllamacpp.CommonParams()
params.model.path = option("-m")
host = option("--host", "127.0.0.1")
params.hostnames = [host] if isinstance(params.hostnames, list) else host
params.port = int(option("--port"))
params.n_ctx = int(option("-c", "8192"))
params.n_parallel = int(option("-np", "1"))
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.n_gpu_layers = 0
params.model_alias = {option("--alias", "live")}
params.endpoint_props = True
params.use_jinja = True
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
