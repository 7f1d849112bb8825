"""Converts for package script, which has no code for pickles: JSON on standard input to a pickle, or the other way round.

    shim.py encode          JSON to the pickle that a script reads
    shim.py decode LIMIT    the pickle that a script has written to JSON of at most LIMIT bytes
    shim.py check           {"path": {"text": source, "local": [names]}} to the faults of each source
"""

import ast
import importlib.util
import io
import json
import pickle
import sys


class Unpickler(pickle.Unpickler):
    """Makes values that JSON has, and calls nothing: a pickle can name any function to be called."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"the pickle names {module}.{name}: only texts, numbers, truth values, lists and dicts are read")


def encode():
    pickle.dump(json.load(sys.stdin), sys.stdout.buffer)


def decode(limit):
    value = Unpickler(io.BytesIO(sys.stdin.buffer.read())).load()
    written = 0
    for part in json.JSONEncoder(allow_nan=False).iterencode(value):  # references to one value are written out each time
        written += len(part)
        if written > limit:
            raise ValueError(f"the value is larger than {limit} bytes as JSON")
        sys.stdout.write(part)


def check():
    json.dump({path: faults(path, **source) for path, source in json.load(sys.stdin).items()}, sys.stdout)


def faults(path, text, local):
    try:
        body = ast.parse(text, path).body
    except (SyntaxError, ValueError) as fault:
        return [f"is no Python: {fault}"]
    modules = set()
    for statement in body:  # those that run in any case
        if isinstance(statement, ast.Import):
            modules.update(alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            modules.add(statement.module)
    out = []
    for module in sorted(modules):
        top = module.split(".")[0]
        if top not in (local or ()) and importlib.util.find_spec(top) is None:
            out.append(f"imports {module}, which this machine's Python does not have")
    return out


try:
    {"encode": encode, "decode": lambda: decode(int(sys.argv[2])), "check": check}[sys.argv[1]]()
except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, ImportError, IndexError, KeyError, RecursionError, MemoryError) as fault:
    sys.exit(f"{type(fault).__name__}: {fault}")
