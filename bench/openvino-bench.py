#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""openvino-bench.py - OpenVINO GenAI with the options and the JSON of llama-bench, so that peers.sh can alternate it with gemkv.

    bench/openvino-bench.py --make int8|int4|bf16 F16.gguf FOLDER
        writes the model of F16.gguf (tests/mkmodel --type=f16) for OpenVINO: weights in 8 bits with a scale for each
        output, in 4 bits with a scale for 128 inputs (embeddings in 8), or as they are; products are then in bfloat16
        where the processor has it.
    bench/openvino-bench.py -m MODEL.gguf -t THREADS -p N -n N [-d N] [-ctk u8|f16] [-r RUNS] [--batch N] [--group N]
        measures the folder MODEL.openvino beside MODEL.gguf.

    -p N        prefill: the time to the first of the tokens written after N of them, so with one token's choice in it
    -n N -d N   decode: N tokens after N others; at least one
    -ctk TYPE   keys and values; OpenVINO's own choice is u8, and q8_0 stands for it  (u8)
    --batch N   tokens that are prefilled together                                    (all)
    --group N   inputs that share a scale of activations                              (128)

Attention is paged, without a cache of prefixes.  Each run has other tokens.  Needs openvino-genai and, for --make, nncf."""
import argparse
import json
import os
import random
import shutil
import struct
import sys
import tempfile


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--make", choices=("int8", "int4", "bf16"))
    p.add_argument("paths", nargs="*", metavar="F16.gguf FOLDER")
    p.add_argument("-m", dest="model")
    p.add_argument("-t", dest="threads", type=int, default=2)
    p.add_argument("-p", "--n-prompt", dest="prompt", type=int, default=0)
    p.add_argument("-n", "--n-gen", dest="gen", type=int, default=0)
    p.add_argument("-d", "--n-depth", dest="depth", type=int, default=0)
    p.add_argument("-r", dest="runs", type=int, default=3)
    p.add_argument("-ctk", dest="kv", default="u8")
    p.add_argument("-ctv", dest="ignored")
    p.add_argument("-o", dest="form", choices=("json",), default="json")
    p.add_argument("--batch", type=int, default=0)
    p.add_argument("--group", type=int, default=128)
    a = p.parse_args()
    if len(a.paths) != (2 if a.make else 0) or not a.make and not a.model:
        p.error("give --make FORM F16.gguf FOLDER, or -m MODEL.gguf")
    return a


def with_file_type(source, to):
    """Copies a GGUF file and adds general.file_type, which OpenVINO's reader asks for.  What is added has 64 bytes, so the
    tensors stay aligned."""
    def text(s):
        return struct.pack("<Q", len(s)) + s

    more = text(b"general.file_type") + struct.pack("<II", 4, 1) + text(b"bench.pad") + struct.pack("<I", 8) + text(b"xx")
    assert len(more) == 64
    with open(source, "rb") as f, open(to, "wb") as out:
        magic, version, tensors, pairs = struct.unpack("<4sIQQ", f.read(24))
        out.write(struct.pack("<4sIQQ", magic, version, tensors, pairs + 2) + more)
        shutil.copyfileobj(f, out, 1 << 24)


def make(kind, source, folder):
    import nncf
    import openvino
    import openvino_genai

    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(folder))) as scratch:
        with_file_type(source, scratch + "/model.gguf")
        openvino_genai.LLMPipeline(scratch + "/model.gguf", "CPU", enable_save_ov_model=True)
        model = openvino.Core().read_model(scratch + "/openvino_model.xml")
        mode = nncf.CompressWeightsMode
        if kind == "int8":
            model = nncf.compress_weights(model, mode=mode.INT8_SYM)
        elif kind == "int4":
            model = nncf.compress_weights(model, mode=mode.INT4_SYM, group_size=128, ratio=1.0)
        openvino.save_model(model, folder + "/openvino_model.xml", compress_to_fp16=False)
        for name in os.listdir(scratch):
            if "tokenizer" in name:
                shutil.copy(scratch + "/" + name, folder)


def measure(a):
    import numpy
    import openvino
    import openvino_genai

    n = a.prompt or max(a.depth, 1)
    config = openvino_genai.SchedulerConfig()
    config.enable_prefix_caching = False
    config.max_num_batched_tokens = a.batch or n
    config.num_kv_blocks = (n + a.gen) // 16 + 16
    pipe = openvino_genai.LLMPipeline(
        os.path.splitext(a.model)[0] + ".openvino", "CPU", scheduler_config=config, ATTENTION_BACKEND="PA",
        INFERENCE_NUM_THREADS=a.threads, DYNAMIC_QUANTIZATION_GROUP_SIZE=a.group,
        KV_CACHE_PRECISION={"q8_0": "u8"}.get(a.kv, a.kv))
    rates = []
    for run in range(a.runs + 1):               # the first warms up
        ids = numpy.array([[random.randrange(1000, 100000) for _ in range(n)]], dtype=numpy.int64)
        inputs = openvino_genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(numpy.ones_like(ids)))
        wanted = 1 if a.prompt else a.gen + 1
        metrics = pipe.generate(inputs, max_new_tokens=wanted, ignore_eos=True, do_sample=False).perf_metrics
        rates.append(1000 * n / metrics.get_ttft().mean if a.prompt else 1000 / metrics.get_tpot().mean)
    print(json.dumps([{"build_commit": openvino_genai.__version__, "n_prompt": a.prompt, "n_gen": a.gen,
                       "samples_ts": rates[1:]}], indent=1))


def main():
    a = parse()
    try:
        if a.make:
            make(a.make, *a.paths)
        else:
            measure(a)
    except ModuleNotFoundError as e:
        sys.exit(f"openvino-bench.py: no {e.name}: pip install openvino-genai nncf")


main()
