"""Mutation testing: change one thing in the code at a time, and check that the tests of its package fail.

    python benchmarks/mutations.py                      # a sample of every package
    python benchmarks/mutations.py stats tables --sample 100
    python benchmarks/mutations.py stats --seed 1       # another sample
    python benchmarks/mutations.py --again survivors.txt

Mutants are made in a copy of the tree, from which the tests import. So an aborted run leaves no mutant behind. Each
mutant that survives the tests is printed at once, and the share of survivors by package at the end. `--again` reads
such printed lines and tries only those mutants. docs/explanation/testing.md has the findings.

Words, annotations, decorators, parameters of functions with their defaults, and kernels, which have separate dense
references, are not mutated. A mutant that exceeds the time limit counts as detected.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DEFAULTS = "tests/house/test_defaults.py"  # compares the values in specs with those of the papers
PACKAGES = {
    "committee": ("plugins/harness_committee", ("tests/plugins/harness_committee",)),
    "index": ("plugins/harness_index", ("tests/plugins/harness_index", "tests/papers/harness_index", DEFAULTS)),
    "metrics": ("plugins/harness_metrics", ("tests/plugins/harness_metrics",)),
    "prototype": (
        "plugins/harness_prototype",
        ("tests/plugins/harness_prototype", "tests/papers/harness_prototype", DEFAULTS),
    ),
    "svm": ("plugins/harness_svm", ("tests/plugins/harness_svm", DEFAULTS)),
    "tree": ("plugins/harness_tree", ("tests/plugins/harness_tree", "tests/papers/harness_tree", DEFAULTS)),
    "stats": (
        "harness/stats",
        (
            "tests/pure/test_stats.py",
            "tests/pure/test_stats_oracles.py",
            "tests/pure/test_calibration.py",
            "tests/pure/test_class_shares.py",
        ),
    ),
    "tables": ("harness/report/tables", ("tests/pure/tables",)),
    "trials": ("harness/trials", ("tests/hostile/trials",)),
}
"""By name: the folder whose modules are mutated, without kernels, and the tests that should fail."""
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
}
"""Operators and their replacements; a comparison by size includes or excludes equality."""
LEFT_ALONE = {"annotation", "returns", "args", "decorator_list", "bases", "keywords", "type_params"}
"""Fields of a definition that are not mutated."""


@dataclass(frozen=True)
class Mutant:
    """A module with a single change."""

    path: str
    line: int
    before: str
    after: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}: {self.before} -> {self.after}"


# -- making mutants


@dataclass(frozen=True)
class Slot:
    """A place in a syntax tree with a node."""

    parent: ast.AST
    field: str
    index: int | None

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module, in the order of its text."""
    tree = ast.parse(path.read_text())
    for slot, node in list(nodes_below(tree)):
        for other in variants(node):
            slot.put(other)
            yield Mutant(
                path=str(path.relative_to(ROOT)),
                line=getattr(node, "lineno", 0),
                before=in_a_line(node),
                after=in_a_line(other),
                text=ast.unparse(ast.fix_missing_locations(tree)),
            )
            slot.put(node)


def in_a_line(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def nodes_below(parent: ast.AST) -> Iterator[tuple[Slot, ast.AST]]:
    """Yield all nodes that may be changed, with their places."""
    defines = isinstance(parent, ast.FunctionDef | ast.ClassDef | ast.AnnAssign | ast.arg)
    for name, value in ast.iter_fields(parent):
        if defines and name in LEFT_ALONE:
            continue
        values = value if isinstance(value, list) else [value]
        for index, node in enumerate(values):
            if isinstance(node, ast.AST) and not isinstance(node, ast.JoinedStr):
                yield Slot(parent, name, index if isinstance(value, list) else None), node
                yield from nodes_below(node)


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the possible replacements of a node."""
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in OPPOSITES:
            yield ast.Compare(left, [opposite(operator)], [right])
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(opposite(operator), values)
        case ast.BinOp(left, operator, right) if type(operator) in OPPOSITES:
            yield ast.BinOp(left, opposite(operator), right)
        case ast.AugAssign(target, operator, value) if type(operator) in OPPOSITES:
            yield ast.AugAssign(target, opposite(operator), value)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.IfExp(_, body, orelse):
            yield body
            yield orelse
        case ast.Constant(bool() | int() | float() as value):
            yield ast.Constant(another(value))
        case ast.If(ast.Name() | ast.Attribute() | ast.Call() as test, body, orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Expr(ast.Call()):
            yield ast.Pass()
        case ast.Call(ast.Name("min" | "max" as extreme), values, keywords):
            yield ast.Call(ast.Name("max" if extreme == "min" else "min"), values, keywords)
        case ast.keyword(str()):
            yield ast.keyword(None, ast.Dict([], []))  # `**{}`: the call without this argument


def another(value: float) -> float:
    """Return a different number, or the other truth value."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return 2 * value if value else 1.0


def opposite(operator: ast.AST) -> Any:
    """Return the replacement of an operator."""
    return OPPOSITES[type(operator)]()


# -- running tests


@dataclass(frozen=True)
class Copy:
    """A copy of the tree in which tests run."""

    root: Path

    def notices(self, mutant: Mutant, tests: Sequence[str], limit: float) -> bool:
        """Return whether a test fails or exceeds the time limit with this mutant."""
        path = self.root / mutant.path
        original = path.read_text()
        write_module(path, mutant.text)
        try:
            return not self.passes(tests, path.stem, limit)
        finally:
            write_module(path, original)

    def passes(self, tests: Sequence[str], subject: str = "", limit: float | None = None) -> bool:
        """Return whether these tests pass in time; tests named after the subject run first."""
        paths = [self.root / name for name in tests]
        first = sorted(path for folder in paths for path in folder.glob(f"test_{subject}*.py"))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command += ["--hypothesis-seed=0", "--ignore-glob=*/kernels/*", *map(str, [*first, *paths])]
        imported = [self.root, self.root / "plugins", self.root / "datasets"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, imported))}
        with subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                return process.wait(limit) == 0
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # including processes started by the tests
                return False


def write_module(path: Path, text: str) -> None:
    """Write a module and delete its compiled form, which would count as current if it was made in the same second."""
    path.write_text(text)
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


@dataclass(frozen=True)
class Found:
    """Number of mutants of a package that were tried, and of those that survived."""

    package: str
    tried: int
    survived: int

    def row(self) -> str:
        return f"| {self.package} | {self.tried} | {self.survived} | {self.survived / max(1, self.tried):.0%} |"


def modules_below(folder: Path) -> list[Path]:
    """Return the modules of a package without kernels, which have their own dense references."""
    return sorted(path for path in folder.rglob("*.py") if "kernels" not in path.parts)


def choose_mutants(name: str, sample: int, seed: int, wanted: frozenset[str] | None) -> list[Mutant]:
    """Return the wanted mutants of a package, or a sample."""
    every: list[Mutant] = []
    for path in modules_below(ROOT / PACKAGES[name][0]):
        every += mutants_of(path)
    if wanted is not None:
        return [mutant for mutant in every if mutant.name in wanted]
    return random.Random(seed).sample(every, min(sample, len(every)))


def try_mutants(name: str, copy: Copy, chosen: Sequence[Mutant]) -> Found:
    """Try mutants of a package, and print those that survive."""
    tests = PACKAGES[name][1]
    if not chosen:
        return Found(name, 0, 0)
    start = time.perf_counter()
    if not copy.passes(tests):
        sys.exit(f"{' '.join(tests)}: fails without any mutant")
    limit = 30 + 3 * (time.perf_counter() - start)
    survived = 0
    for mutant in chosen:
        if not copy.notices(mutant, tests, limit):
            survived += 1
            print(mutant.name, flush=True)
    return Found(name, len(chosen), survived)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"of {', '.join(PACKAGES)}; all without any")
    parser.add_argument("--sample", type=int, default=40, help="mutants per package (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: %(default)s)")
    parser.add_argument("--again", type=Path, metavar="FILE", help="try only the mutants in the lines of this file")
    given = parser.parse_args()
    unknown = set(given.packages) - PACKAGES.keys()
    if unknown:
        parser.error(f"no package {', '.join(sorted(unknown))}; there are {', '.join(PACKAGES)}")
    wanted = frozenset(given.again.read_text().splitlines()) if given.again else None
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder) / "tree")
        shutil.copytree(ROOT, copy.root, ignore=shutil.ignore_patterns(".git", ".venv", "*_cache"))
        found = []
        for name in given.packages or PACKAGES:
            found.append(try_mutants(name, copy, choose_mutants(name, given.sample, given.seed, wanted)))
    print("| package | mutants | survived | share |\n|---|---|---|---|")
    for each in found:
        print(each.row())


if __name__ == "__main__":
    main()
