"""Ways to tamper with a model as an attacker may: its manifest, its arrays and its paths. `tampering.py` tries them.

Each function changes the folder of a model at random, mostly with new checksums, and returns what it changed.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import socket
import zipfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from harness.models.folder import MANIFEST, seal_of

PAYLOAD = "attack"
"""Module in the working directory that leaves a mark when it is imported."""
CODE = (
    "os:system",
    "posix:system",
    "builtins:eval",
    "builtins:exec",
    "subprocess:Popen",
    "pickle:Unpickler",
    "runpy:run_path",
    "attack:Boom",
    ".attack:Boom",
    "attack:",
    "attack",
    "harness_prototype.pa:",
    "harness_prototype.pa:PA.fit",
    "harness_prototype.pa:np",
    "harness_prototype.pa:PA.__class__",
    "harness.cli:main",
    "sklearn.base:BaseEstimator",
    "sklearn.pipeline:Pipeline",
    "joblib:load",
    ":",
    "",
)
OUTSIDE = (
    "../outside.npz",
    "/etc/passwd",
    "/dev/zero",
    "..",
    ".",
    "",
    "a/../../outside.npz",
    "learner.npz/",
    "learner.npz\0",
    "x" * 300,
    "\ud800",
    "~/model",
)
WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1.5,
    float("nan"),
    float("inf"),
    10**400,
    "",
    "none",
    [],
    {},
    [[[]]],
    {"a": {"b": []}},
)


# -- manifest ----------------------------------------------------------------------------------------------------------


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest as plain values."""
    plain: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    return plain


def write_manifest(folder: Path, plain: dict[str, Any], *, is_sealed: bool = True) -> None:
    """Write the manifest, with a valid checksum of itself unless `is_sealed` is False."""
    sealed = plain | {"sha256": seal_of(plain)} if is_sealed else plain
    (folder / MANIFEST).write_text(json.dumps(sealed))


def seal_files(folder: Path) -> None:
    """Write the checksums of the present files into the manifest, as a person does who can change the folder."""
    from harness.models.folder import _facts

    plain = read_manifest(folder)
    for name in plain["files"]:
        facts = _facts(folder / name)
        plain["files"][name] = {"bytes": facts.bytes, "sha256": facts.sha256}
    write_manifest(folder, plain)


def change_text(folder: Path, chance: random.Random) -> str:
    """Change letters of the manifest or of another file of text, without new checksums."""
    path = chance.choice(sorted(folder.rglob("*.json")))
    content = bytearray(path.read_bytes())
    way = chance.choice(("cut", "flip", "insert", "swap", "empty", "deep"))
    place = chance.randrange(len(content))
    if way == "cut":
        del content[place:]
    elif way == "flip":
        content[place] ^= 1 << chance.randrange(8)
    elif way == "insert":
        content[place:place] = chance.choice((b"\0", b'"', b"}", b"9" * 5000, b"\xff\xfe", b"NaN"))
    elif way == "swap":
        content = bytearray(content.replace(b"harness_", b"attack_", 1).replace(b"words", b"attack", 1))
    else:
        content = bytearray(b"" if way == "empty" else b"[" * 200_000)
    path.write_bytes(content)
    return f"{path.name}: {way} at {place}"


def name_code(folder: Path, chance: random.Random) -> str:
    """Name other code where the manifest names the learner."""
    plain, name = read_manifest(folder), chance.choice(CODE)
    key = chance.choice(("load", "name", "both", "expression", "representation", "skops"))
    if key == "representation":
        plain["representation"] = name
    elif key == "both":
        plain["learner"] |= {"load": name, "name": name, "distribution": ""}
    elif key == "skops":
        plain["learner"] |= {"load": name, "saved_as": "skops"}
    else:
        plain["learner"][key] = name
    write_manifest(folder, plain)
    return f"{key} is {name!r}"


STRUCTURE = ("version", "format", "learner", "takes_text", "calibrator", "files", "held_out", "data", "versions")
"""Keys of the manifest whose value decides how the model is read."""


def give_wrong_value(folder: Path, chance: random.Random) -> str:
    """Give a key of the manifest a value of another kind."""
    plain, value = read_manifest(folder), chance.choice(WRONG)
    key = chance.choice(STRUCTURE)
    inner = plain[key]
    if isinstance(inner, dict) and inner and chance.random() < 0.7:
        part = chance.choice(sorted(inner))
        if key == "calibrator":  # another valid share is an author's right, and changes the confidence
            value = chance.choice((None, [], {}, "high", -1, 1.5, float("nan"), float("inf"), True))
        inner[part], key = value, f"{key}.{part}"
    else:
        plain[key] = value
    write_manifest(folder, plain)
    return f"{key} is {value!r}"[:100]


def name_outside(folder: Path, chance: random.Random) -> str:
    """Let the manifest or the plan of the representation name a file outside of the folder."""
    plain, name = read_manifest(folder), chance.choice(OUTSIDE)
    key = chance.choice(("files", "learner", "both", "plan"))
    if key == "plan":
        path = folder / "representation" / "representation.json"
        path.write_text(json.dumps({"kind": "saved", "class": "harness_representations.words:Words", "file": name}))
        seal_files(folder)
        return f"the plan names {name!r}"
    if key in ("files", "both"):
        plain["files"][name] = plain["files"]["classes.json"]
    if key in ("learner", "both"):
        plain["learner"]["file"] = name
    write_manifest(folder, plain)
    return f"{key} names {name!r}"


def forget_files(folder: Path, chance: random.Random) -> str:
    """Remove a file from the manifest, and damage it where no checksum covers it."""
    plain = read_manifest(folder)
    name = chance.choice(sorted(plain["files"]))
    del plain["files"][name]
    write_manifest(folder, plain)
    path = folder / name
    content = bytearray(path.read_bytes())
    content[-len(content) // 3] ^= 0x10
    path.write_bytes(content)
    return f"{name} without checksum, and changed"


def change_plan(folder: Path, chance: random.Random) -> str:
    """Change the plan of the representation: other classes, no members, members twice, endless depth."""
    path = folder / "representation" / "representation.json"
    plan = json.loads(path.read_text())
    leaf = {"kind": "saved", "class": chance.choice(CODE), "file": "1.npz"}
    first = plan["members"][0] if "members" in plan else plan
    changed: Any = chance.choice(
        [
            leaf,
            {"kind": "chain", "members": []},
            {"kind": "union", "members": [first, first]},
            {"kind": "foreign", "file": first["file"]},
            {"kind": "pickle", "file": first["file"]},
            {**first, "class": chance.choice(CODE)},
            {"kind": "chain", "members": first},
            [plan],
            None,
            json.loads('{"kind":"chain","members":[' * 400 + "]}" * 400),
        ]
    )
    path.write_text(json.dumps(changed))
    seal_files(folder)
    return f"plan is {json.dumps(changed)[:60]}"


def change_classes(folder: Path, chance: random.Random) -> str:
    """Change class names and taxonomy to what no model has."""
    path = folder / "classes.json"
    plain = json.loads(path.read_text())
    tree, way = plain["taxonomy"], chance.randrange(10)
    if way == 0:
        plain["names"] = chance.choice(WRONG)
    elif way == 1:
        plain["names"][0] = chance.choice((None, 7, "\ud800", [], {}))
    elif way == 2:
        del plain["names"][0]
    elif way == 3:
        plain["taxonomy"] = chance.choice([value for value in WRONG if value is not None])
    elif way == 4:
        tree["parent"][1] = chance.choice((1, 2, 10**6, -2, 2**70, "x", None))
    elif way == 5:
        tree["class_node"][0] = chance.choice((10**6, -1, 2**70, "x", None, tree["class_node"][1]))
    elif way == 6:
        tree["parent"] = [-1] * len(tree["parent"])
    elif way == 7:
        del tree[chance.choice(sorted(tree))]
    elif way == 8:
        tree["class_node"] = tree["class_node"][1:]
    else:
        tree["parent"] = [[number] for number in tree["parent"]]
    path.write_text(json.dumps(plain))
    seal_files(folder)
    return f"classes, way {way}"


# -- arrays ----------------------------------------------------------------------------------------------------------


def archives(folder: Path) -> list[Path]:
    """Return the files of arrays of a model."""
    return sorted(folder.rglob("*.npz")) + sorted(folder.rglob("*.skops"))


def damage_archive(folder: Path, chance: random.Random) -> str:
    """Flip a bit of a file of arrays, cut it or add to it, without new checksums."""
    path = chance.choice(archives(folder))
    content = bytearray(path.read_bytes())
    way, place = chance.choice(("flip", "cut", "add")), chance.randrange(len(content))
    if way == "flip":
        content[place] ^= 1 << chance.randrange(8)
    elif way == "cut":
        del content[place:]
    else:
        content += chance.randbytes(chance.choice((1, 64, 10_000)))
    path.write_bytes(content)
    return f"{path.name}: {way} at {place}"


def npy_bytes(array: np.ndarray[Any, Any], *, shape: str = "", dtype: str = "") -> bytes:
    """Return an array as a file of numpy, with another shape or type in its header."""
    file = io.BytesIO()
    header = npy.header_data_from_array_1_0(array)
    text = repr({**header, "descr": dtype or header["descr"]})
    if shape:
        text = text.replace(repr(header["shape"]), shape)
    padded = text.ljust(-(-(len(text) + 11) // 64) * 64 - 11) + "\n"
    file.write(npy.magic(1, 0) + len(padded).to_bytes(2, "little") + padded.encode("latin-1") + array.tobytes())
    return file.getvalue()


class Boom:
    """Leaves a mark when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return __import__, (PAYLOAD,)


def pickled() -> bytes:
    """Return an array of objects, whose reading by pickle imports the module of the attacker."""
    file = io.BytesIO()
    np.save(file, np.array([Boom()], dtype=object), allow_pickle=True)
    return file.getvalue()


SHAPES = ("(1000000000000,)", "(-1,)", "(4294967296, 4294967296)", "(9223372036854775807,)", "('a',)", "(0,)", "None")
DTYPES = ("|O", "<f8", "|V1000000", "<U99999", "<c16", "xx", "|u1")


def forge_arrays(folder: Path, chance: random.Random) -> str:
    """Forge an array of a file that harness writes, with new checksums."""
    path = chance.choice(sorted(folder.rglob("*.npz")))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice(sorted(members))
    array = npy.read_array(io.BytesIO(members[name]))
    way = chance.choice(("shape", "dtype", "pickle", "packed", "drop", "extra", "long", "short", "header", "values"))
    detail, packing = "", zipfile.ZIP_STORED
    if way == "shape":
        detail = chance.choice(SHAPES)
        members[name] = npy_bytes(array, shape=detail)
    elif way == "dtype":
        detail = chance.choice([dtype for dtype in DTYPES if dtype != array.dtype.str])
        members[name] = npy_bytes(array, dtype=detail)
    elif way == "pickle":
        members[name] = pickled()
    elif way == "packed":
        packing = zipfile.ZIP_DEFLATED
    elif way == "drop":
        del members[name]
    elif way == "extra":
        detail = chance.choice(("../../outside.npy", "/tmp/outside.npy", "__reduce__.npy", "predict.npy", "x.npy"))
        members[detail] = pickled() if chance.random() < 0.5 else members[name]
    elif way in ("long", "short"):
        changed = np.append(array.ravel(), array.ravel()) if way == "long" else array.ravel()[:-1]
        members[name] = npy_bytes(changed if array.ndim else array, shape="" if array.ndim else "(1,)")
    elif way == "header":
        detail = _forge_header(members, chance)
    else:
        name, detail = _forge_values(members, chance)
    with zipfile.ZipFile(path, "w", packing) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    seal_files(folder)
    return f"{path.name}, {name}: {way} {detail}"


def _forge_header(members: dict[str, bytes], chance: random.Random) -> str:
    """Name other code in the header of an archive, as its class or among its parameters."""
    text, *objects = npy.read_array(io.BytesIO(members["arr_0.npy"])).tolist()
    plain, code = json.loads(text), chance.choice(CODE)
    nested = {"learner": code, "parameters": {}}
    way = chance.randrange(4)
    if way == 0:
        plain["learner"] = code
    elif way == 1:
        plain["parameters"] = dict.fromkeys(plain["parameters"], nested) | {"extra": nested}
    elif way == 2:
        plain["parameters"] = {key: {"tuple": [nested]} for key in plain["parameters"]} or [nested]
    else:
        plain[chance.choice(("format", "version", "parameters", "learner"))] = chance.choice(WRONG)
    members["arr_0.npy"] = npy_bytes(np.array([json.dumps(plain), *objects]))
    return f"{way} {code!r}"


OUT_OF_RANGE = ("rows_.indptr", "rows_.classes", "branches_.start", "branches_.own", "branches_.child")


def _forge_values(members: dict[str, bytes], chance: random.Random) -> tuple[str, str]:
    """Set an array to values that lead out of the others: positions beyond the end, and numbers that are none."""
    known = [name for name in members if name.removesuffix(".npy") in OUT_OF_RANGE]
    known += [name for name in members if name.endswith(("weights.npy", "indptr.npy"))]
    name = chance.choice(sorted(known or members))
    array = npy.read_array(io.BytesIO(members[name])).copy()
    if array.dtype.kind == "f" and array.size:
        value: Any = chance.choice((np.nan, np.inf, -np.inf))
    elif array.dtype.kind in "iu" and array.size:
        value = np.iinfo(array.dtype).max - chance.randrange(2)
    else:
        members[name] = npy_bytes(array, dtype="|O")
        return name, "objects"
    array.flat[chance.randrange(array.size)] = value
    members[name] = npy_bytes(array)
    return name, str(value)


def forge_skops(folder: Path, chance: random.Random) -> str:
    """Name other code in a file of skops; in another model put such a file in the place of the learner."""
    found = sorted(folder.rglob("*.skops"))
    plain = read_manifest(folder)
    module, _, attribute = chance.choice([code for code in CODE if code.count(":") == 1]).partition(":")
    if not found:
        plain["learner"] |= {"saved_as": "skops", "file": "learner.skops"}
        plain["files"]["learner.skops"] = {"bytes": 0, "sha256": ""}
        found = [folder / "learner.skops"]
        write_manifest(folder, plain)
        members = {}
        schema: dict[str, Any] = {"protocol": 2, "_skops_version": "0.13"}
    else:
        with zipfile.ZipFile(found[0]) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        schema = json.loads(members["schema.json"])
    loader = chance.choice(("ObjectNode", "FunctionNode", "TypeNode", "ReduceNode", "OperatorFuncNode", "PartialNode"))
    arguments = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": []}
    node = {"__class__": attribute, "__module__": module, "__loader__": loader, "content": arguments, "args": arguments}
    if chance.random() < 0.5 and "content" in schema:
        schema["content"] = node
    else:
        schema |= node
    members["schema.json"] = json.dumps(schema).encode()
    if chance.random() < 0.3:
        members = {name: pickled() if name.endswith(".npy") else content for name, content in members.items()}
    with zipfile.ZipFile(found[0], "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    seal_files(folder)
    return f"{loader} {module}:{attribute}"


# -- paths -----------------------------------------------------------------------------------------------------------


PATH_WAYS = (
    *("link", "chain", "pipe", "zero", "folder", "socket", "huge", "gone", "empty"),
    *("loop", "parent", "extra", "other"),
)


def change_path(folder: Path, chance: random.Random) -> str:
    """Put a link, a pipe, a device, a folder or a huge file in the place of a file, or remove it."""
    path = chance.choice([path for path in sorted(folder.rglob("*")) if path.is_file()])
    way = chance.choice(PATH_WAYS)
    outside = folder.parent / "outside"
    if way == "extra":  # a file that the manifest does not name is not read
        (path.parent / chance.choice(("attack.py", "learner2.npz", "__init__.py", "1.9.npz"))).write_bytes(pickled())
        return "a further file"
    if way == "other":  # the file of another model of the same kind
        path.write_bytes(chance.choice(sorted(folder.rglob("*.json"))).read_bytes()[:-1])
        return f"{path.name} is another file"
    if way == "parent":
        path = folder / "representation"
        shutil.copytree(path, outside)
        shutil.rmtree(path)
        path.symlink_to(outside)
        return "a linked subfolder"
    content = path.read_bytes()
    path.unlink()
    if way in ("link", "chain"):
        outside.write_bytes(content)
        (outside.with_name("second")).symlink_to(outside)
        path.symlink_to(outside if way == "link" else outside.with_name("second"))
    elif way == "pipe":
        os.mkfifo(path)
    elif way == "zero":
        path.symlink_to("/dev/zero")
    elif way == "folder":
        path.mkdir()
    elif way == "socket":
        with chdir(path.parent), socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
    elif way == "huge":
        with path.open("wb") as file:
            file.truncate(2**40)
    elif way == "empty":
        path.touch()
    elif way == "loop":
        path.symlink_to(path.name)
    return f"{path.name}: {way}"


KINDS: dict[str, tuple[int, Callable[[Path, random.Random], str]]] = {
    "text of manifest, plan or classes, old checksums": (50, change_text),
    "manifest: other code": (70, name_code),
    "manifest: values of another kind": (60, give_wrong_value),
    "manifest and plan: files outside": (40, name_outside),
    "manifest: files without checksum": (20, forget_files),
    "plan of the representation": (30, change_plan),
    "classes and taxonomy": (30, change_classes),
    "arrays, old checksums": (40, damage_archive),
    "arrays, new checksums": (80, forge_arrays),
    "skops files, new checksums": (30, forge_skops),
    "paths: links, pipes, devices, sizes": (50, change_path),
}
"""Share of the attempts, of 500, and the function that changes a copy."""
