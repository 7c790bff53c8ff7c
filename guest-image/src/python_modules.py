"""Compiles the Python modules below a folder that becomes a guest's `/`.

Modules are parsed, never run. What is no module of this Python's is left out,
as is what a link takes from outside of the folder.

The result names its source's hash, not its time: unpacked files have another
one in the guest. Python compares the hash, so that a module that was replaced
there counts.
"""

import os
import py_compile
import sys
from importlib.util import cache_from_source

ROOT = os.path.realpath(sys.argv[1])
CHECKED = py_compile.PycInvalidationMode.CHECKED_HASH


def source_of(path):
    """Where a module's text is: at its path, or where a link leads in the guest."""
    if not os.path.islink(path):
        return path
    target = os.readlink(path)
    base = ROOT if target.startswith("/") else os.path.dirname(path)
    return os.path.join(base, target.lstrip("/"))


def is_inside(path):
    return os.path.realpath(path).startswith(ROOT + "/")


def modules():
    """The modules whose compiled form would lie inside, and is not there."""
    for folder, _, files in os.walk(ROOT):
        if os.path.islink(os.path.join(folder, "__pycache__")):
            continue
        for path in (os.path.join(folder, name) for name in files if name.endswith(".py")):
            source = source_of(path)
            is_module = is_inside(source) and os.path.isfile(source)
            if is_module and not os.path.lexists(cache_from_source(path)):
                yield path, source


# As packages' folders are, whatever the user's own are like.
os.umask(0o022)
for path, source in modules():
    try:
        py_compile.compile(
            source,
            cfile=cache_from_source(path),
            dfile="/" + os.path.relpath(path, ROOT),
            doraise=True,
            invalidation_mode=CHECKED,
        )
    except py_compile.PyCompileError:
        pass
