"""The import contracts, made from the list of entry points: a new plugin is under all of them without a word.

Data flows one way, and imports go the same way, down only.
"""

import tomllib
from pathlib import Path

import tomli_w

ROOT = Path(__file__).resolve().parents[2]
LAYERS = [
    "harness.cli",
    "harness.api",
    "harness.runner | harness.rescore | harness.representing | harness.checks | harness.budget",
    "harness.progress | harness.experiment | harness.recording",
    "harness.cluster",
    "harness.trials | harness.environments",
    "harness.page",
    "harness.data | harness.tables | harness.figures | harness.models",
    "harness.groups",
    "harness.executors | harness.store | harness.metric | harness.sdk",
    "harness.record_lines",
    "harness.machine | harness.quiet | harness.record | harness.home | harness.host | harness.code | harness.stats",
    "harness.signature",
    "harness.catalog | harness.hooks",
    "harness.contract | harness.abilities | harness.choosing",
    "harness.spec_fields | harness.expression | harness.split | harness.label | harness.choices | harness.docstring",
    "harness.errors | harness.params | harness.quantities | harness.suggestions | harness.system | harness.wording",
]
PUBLIC = ("abilities", "contract", "errors", "hooks", "sdk")
"""What plugins may build on, beside the names at the top of `harness`, which come from here."""


def plugin_packages():
    """The packages below plugins/ and datasets/, by their entry points."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return sorted(target.partition(".")[0] for target in project["entry-points"]["harness"].values())


def host_modules():
    """The modules and packages at the top of `harness`."""
    return sorted(path.stem for path in (ROOT / "harness").iterdir() if path.stem[0] != "_")


def contracts():
    plugins = plugin_packages()
    private = [f"harness.{name}" for name in host_modules() if name not in PUBLIC]
    return [
        {"name": "Imports go down", "type": "layers", "layers": LAYERS},
        {"name": "No package goes round in circles", "type": "acyclic_siblings", "ancestors": ["harness"]},
        forbidden("The host knows no plugin", ["harness"], plugins),
        {"name": "Plugins know each other not at all", "type": "independence", "modules": plugins},
        forbidden(
            "Plugins use the public names and the sdk, never the machinery",
            plugins,
            private,
            allow_indirect_imports=True,  # what the public names themselves import is the host's business
        ),
        forbidden(
            "numba appears only in kernels",
            ["harness", *plugins],
            ["numba"],
            ignore_imports=["**.kernels.* -> numba"],
        ),
        forbidden(
            "dask appears only where clusters are",
            ["harness", *plugins],
            ["dask", "distributed"],
            ignore_imports=["harness.cluster.* -> distributed", "harness.cluster.* -> distributed.**"],
        ),
        forbidden("Kernels know no estimator", kernels(), ["sklearn"], allow_indirect_imports=True),
    ]


def forbidden(name, sources, targets, **more):
    modules = {"source_modules": sources, "forbidden_modules": targets}
    return {"name": name, "type": "forbidden", **modules, "unmatched_ignore_imports_alerting": "none", **more}


def kernels():
    folders = [*(ROOT / "plugins").glob("*/kernels"), ROOT / "harness" / "sdk" / "kernels"]
    return sorted(".".join(path.relative_to(root_of(path)).parts) for path in folders)


def root_of(path):
    return ROOT / "plugins" if "plugins" in path.parts else ROOT


def write_config(path):
    """The configuration of import-linter, in a file."""
    settings = {
        "root_packages": ["harness", *plugin_packages()],
        "include_external_packages": True,
        "exclude_type_checking_imports": True,
        "contracts": contracts(),
    }
    path.write_text(tomli_w.dumps({"tool": {"importlinter": settings}}))
    return path
