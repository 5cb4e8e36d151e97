"""Versions of packages, found in folders without starting the Python that will import from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, MetadataPathFinder, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from harness.catalog import HOST_DISTRIBUTION


def find_versions(names: Iterable[str], path: Sequence[str]) -> dict[str, str]:
    """The version of each package that whoever imports from these folders finds: the first one's; none for absent."""
    versions: dict[str, str] = {}
    for name in names:
        found = find_distribution(name, path)
        if found is not None:
            versions[canonicalize_name(name)] = found.version
    return dict(sorted(versions.items()))


def find_distribution(name: str, path: Sequence[str]) -> Distribution | None:
    """The distribution of this name that lies in the first of these folders that has one."""
    context = MetadataPathFinder.Context(name=name, path=list(path))
    return next(iter(MetadataPathFinder.find_distributions(context)), None)


def list_packages(folder: str) -> list[str]:
    """The packages that are installed in a folder."""
    found = MetadataPathFinder.find_distributions(MetadataPathFinder.Context(path=[folder]))
    return [canonicalize_name(distribution.name) for distribution in found]


def with_dependencies(wanted: Iterable[str], path: Sequence[str]) -> list[str]:
    """The packages that these requirements name and, as far as they are there, all that those need in turn."""
    waiting = [Requirement(text) for text in wanted]
    extras_of: dict[str, set[str]] = {}
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        fresh = name not in extras_of or not requirement.extras <= extras_of[name]
        if not fresh or not applies(requirement):
            continue
        extras_of.setdefault(name, set()).update(requirement.extras)
        found = find_distribution(name, path)
        for text in (found.requires or ()) if found else ():
            needed = Requirement(text)
            if applies(needed, extras_of[name]):
                waiting.append(Requirement(text.partition(";")[0]))
    return sorted(extras_of)


def applies(requirement: Requirement, extras: Iterable[str] = ()) -> bool:
    """Whether a requirement is one here, with some extras of whoever has it."""
    if requirement.marker is None:
        return True
    return any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras))


def host_requirements() -> list[str]:
    """What harness itself needs, as its distribution says."""
    needed = [Requirement(text) for text in requires(HOST_DISTRIBUTION) or ()]
    return [str(requirement) for requirement in needed if applies(requirement)]
