#!/usr/bin/env python3
"""A graph of the size and arithmetic of Qwen3-Embedding-0.6B in dynamic INT8, with weights by chance.

usage: random_qwen3.py MODELS_FOLDER TOKENIZER_JSON [--layers N]

What it embeds means nothing; what it costs is what the real file costs (613 MB, 596 million weights, 28
layers, grouped-query attention, the same inputs). Makes MODELS_FOLDER/qwen3-random/ and the description
MODELS_FOLDER/qwen3-random.toml. The tokenizer is the real one's tokenizer.json, or any other that appends
<|endoftext|>. Needs numpy and onnx; 2 GB of memory, half a minute.
"""
import argparse, hashlib, os, shutil
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VOCABULARY, HIDDEN, INNER, HEADS, GROUPS, WIDTH, POSITIONS = 151669, 1024, 3072, 16, 8, 128, 32768
CONTRIB = "com.microsoft"

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("models")
p.add_argument("tokenizer")
p.add_argument("--layers", type=int, default=28)
A = p.parse_args()
chance = np.random.default_rng(7)
nodes, weights = [], []


def node(kind, *inputs, outputs=1, domain="", **attributes):
    names = [f"{kind}{len(nodes)}_{at}" for at in range(outputs)]
    nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
    return names[0] if outputs == 1 else names


def weight(name, values):
    weights.append(numpy_helper.from_array(values, name))
    return name


def number(name, value, kind=np.int64):
    return weight(name, np.array(value, kind))


def whole_numbers(rows, columns):
    """Weights of deviation 1/sqrt(rows), as INT8 and the scale that makes them so."""
    values = chance.integers(-127, 128, (rows, columns), dtype=np.int8)
    return values, np.float32(1 / (73.3 * np.sqrt(rows)))


def quantised(x):
    return node("DynamicQuantizeLinear", x, outputs=3)


def linear(x, name, rows, columns):
    values, scale = whole_numbers(rows, columns)
    product = node("MatMulInteger", x[0], weight(name, values), x[2], number(name + ".zero", 0, np.int8))
    both = node("Mul", x[1], weight(name + ".scale", np.array([scale], np.float32)))
    return node("Mul", node("Cast", product, to=TensorProto.FLOAT), both)


def norm(x, name, size):
    return node("SimplifiedLayerNormalization", x, weight(name, np.ones(size, np.float32)), axis=-1, epsilon=1e-6, stash_type=1)


def heads(x, name, count):
    split = node("Reshape", x, number(name + ".split", [0, 0, count, WIDTH]))
    return node("Reshape", norm(split, name, WIDTH), number(name + ".join", [0, 0, count * WIDTH]))


table, scale = whole_numbers(VOCABULARY, HIDDEN)
rows = node("Gather", weight("embed", table), "input_ids", axis=0)
x = node("DequantizeLinear", rows, number("embed.scale", scale * np.sqrt(VOCABULARY), np.float32), number("embed.zero", 0, np.int8))
angles = np.outer(np.arange(POSITIONS), 1e6 ** (-np.arange(0, WIDTH, 2) / WIDTH))
cos, sin = weight("cos", np.cos(angles).astype(np.float32)), weight("sin", np.sin(angles).astype(np.float32))
real = node("ReduceSum", "attention_mask", number("axis", [1]), keepdims=0)
last = node("Cast", node("Sub", real, number("one", 1)), to=TensorProto.INT32)
total = node("Cast", node("Gather", node("Shape", "attention_mask"), number("second", 1)), to=TensorProto.INT32)
present, cache = [], []
for layer in range(A.layers):
    name = f"layer{layer}."
    y = quantised(norm(x, name + "norm1", HIDDEN))
    q = heads(linear(y, name + "q", HIDDEN, HEADS * WIDTH), name + "q_norm", HEADS)
    k = heads(linear(y, name + "k", HIDDEN, GROUPS * WIDTH), name + "k_norm", GROUPS)
    v = linear(y, name + "v", HIDDEN, GROUPS * WIDTH)
    past = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
    seen, *kept = node("GroupQueryAttention", q, k, v, *past, last, total, cos, sin, outputs=3, domain=CONTRIB,
                       num_heads=HEADS, kv_num_heads=GROUPS, do_rotary=1, scale=WIDTH**-0.5)
    cache += past
    for part, made in zip(("key", "value"), kept):
        nodes.append(helper.make_node("Identity", [made], [f"present.{layer}.{part}"]))
        present.append(f"present.{layer}.{part}")
    x = node("Add", x, linear(quantised(seen), name + "o", HEADS * WIDTH, HIDDEN))
    y = quantised(norm(x, name + "norm2", HIDDEN))
    gate = linear(y, name + "gate", HIDDEN, INNER)
    inner = node("Mul", node("Mul", gate, node("Sigmoid", gate)), linear(y, name + "up", HIDDEN, INNER))
    x = node("Add", x, linear(quantised(inner), name + "down", INNER, HIDDEN))
nodes.append(helper.make_node("Identity", [norm(x, "norm", HIDDEN)], ["last_hidden_state"]))


def value(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, list(shape))


whole, real_number = TensorProto.INT64, TensorProto.FLOAT
inputs = [value("input_ids", whole, "batch", "length"), value("attention_mask", whole, "batch", "total"), value("position_ids", whole, "batch", "length")]
inputs += [value(name, real_number, "batch", GROUPS, "past", WIDTH) for name in cache]
outputs = [value("last_hidden_state", real_number, "batch", "length", HIDDEN)]
outputs += [value(name, real_number, "batch", GROUPS, "total", WIDTH) for name in present]
graph = helper.make_graph(nodes, "qwen3-random", inputs, outputs, weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(CONTRIB, 1)], ir_version=9)
folder = os.path.join(A.models, "qwen3-random")
os.makedirs(folder, exist_ok=True)
onnx.save(model, os.path.join(folder, "model.onnx"))
shutil.copy(A.tokenizer, os.path.join(folder, "tokenizer.json"))

shipped = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../config/models/qwen3-embedding-0.6b.toml")
text = open(shipped, encoding="utf-8").read().split("[[files]]")[0].replace("qwen3-embedding-0.6b", "qwen3-random")
for name in ("model.onnx", "tokenizer.json"):
    data = open(os.path.join(folder, name), "rb").read()
    text += f'[[files]]\nname = "{name}"\nbytes = {len(data)}\nsha256 = "{hashlib.sha256(data).hexdigest()}"\n'
    text += '[files.origin]\nmade = "run benches/embedding/random_qwen3.py"\n\n'
open(os.path.join(A.models, "qwen3-random.toml"), "w", encoding="utf-8").write(text)
print(folder, os.path.getsize(os.path.join(folder, "model.onnx")), "bytes")
