"""Import contracts, generated from the entry points: a new plugin is covered automatically.

Data flows one way, and imports go down only.
"""

import tomllib
from pathlib import Path

import tomli_w

ROOT = Path(__file__).resolve().parents[2]
LAYERS = [
    "harness.cli",
    "harness.runner | harness.checks",
    "harness.results",
    "harness.models",
    "harness.experiment",
    "harness.cluster",
    "harness.trials",
    "harness.report",
    "harness.records | harness.data | harness.environments",
    "harness.executors",
    "harness.stats",
    "harness.sdk",
    "harness.host",
    "harness.files | harness.syntax | harness.system",
    "harness.text",
    "harness.errors",
]
PUBLIC = ("errors", "sdk")
"""Modules that plugins may import, in addition to the names at the top of `harness`."""


def plugin_packages():
    """Return the packages below plugins/ and datasets/, from their entry points."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return sorted(target.partition(".")[0] for target in project["entry-points"]["harness"].values())


def host_modules():
    """Return the modules and packages at the top of `harness`."""
    places = (ROOT / "harness").iterdir()
    return sorted(place.stem for place in places if place.stem[0] != "_" and (place.is_dir() or place.suffix == ".py"))


def contracts():
    plugins = plugin_packages()
    private = [f"harness.{name}" for name in host_modules() if name not in PUBLIC]
    return [
        {"name": "Imports go down", "type": "layers", "layers": LAYERS},
        {
            "name": "No package goes round in circles",
            "type": "acyclic_siblings",
            "ancestors": ["harness"],
            # Drawings are data; matplotlib is imported only when one is drawn.
            "ignore_imports": ["harness.report.figures.drawing -> harness.report.figures.draw"],
        },
        forbidden("The host knows no plugin", ["harness"], plugins),
        {"name": "Plugins know each other not at all", "type": "independence", "modules": plugins},
        forbidden(
            "Plugins use the public names and the sdk, never the machinery",
            plugins,
            private,
            allow_indirect_imports=True,  # imports behind the public names are covered by the host's contracts
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
            ignore_imports=[
                "harness.cluster -> distributed",
                "harness.cluster.* -> distributed",
                "harness.cluster.* -> distributed.**",
            ],
        ),
        forbidden("Kernels know no estimator", kernels(), ["sklearn"], allow_indirect_imports=True),
    ]


def forbidden(name, sources, targets, **more):
    modules = {"source_modules": sources, "forbidden_modules": targets}
    return {"name": name, "type": "forbidden", **modules, "unmatched_ignore_imports_alerting": "none", **more}


def kernels():
    folders = [*(ROOT / "plugins").glob("**/kernels"), ROOT / "harness" / "sdk" / "kernels"]
    return sorted(".".join(path.relative_to(root_of(path)).parts) for path in folders)


def root_of(path):
    return ROOT / "plugins" if path.is_relative_to(ROOT / "plugins") else ROOT


def write_config(path):
    """Write the configuration of import-linter to a file."""
    settings = {
        "root_packages": ["harness", *plugin_packages()],
        "include_external_packages": True,
        "exclude_type_checking_imports": True,
        "contracts": contracts(),
    }
    path.write_text(tomli_w.dumps({"tool": {"importlinter": settings}}))
    return path
