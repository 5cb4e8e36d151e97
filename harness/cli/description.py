"""What `harness data info` tells of a data set."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

import click

from harness.catalog import Entry
from harness.cli.lists import reader_width
from harness.contract import DatasetSpec
from harness.data.arrays import Header
from harness.data.inventory import bytes_of, state_of
from harness.data.profile import FEW, ClassSize, DataProfile, Repeats
from harness.home import raw_folder, read_manifest
from harness.tables.fit_width import wrap_lines
from harness.wording import counted, in_a_line

KEY_WIDTH = 16
COUNTS = ("rows", "features", "classes", "nonzeros", "taxonomy_depth")
"""What a header says of a data set in numbers, in the order in which it is told; the rest is the profile's to tell."""


def show_spec(entry: Entry[DatasetSpec]) -> None:
    """What its plugin says of a data set, and which raw files of it are there."""
    spec = entry.spec
    raw_files = raw_folder(spec.name)
    manifest = read_manifest(raw_files)
    _say("name", spec.name)
    _say("summary", spec.summary)
    _say("from", f"{entry.origin.plugin} of {entry.origin}")
    _say("state", f"{state_of(spec)}, {show_bytes(bytes_of(spec.name))} in the data home")
    _say("licence", spec.licence)
    _say("citation", spec.citation)
    _say("made from", spec.obtain)
    for file in spec.files:
        _say("file", f"{file.name} (SHA-256 {file.sha256 or 'not known'})")
        for url in file.urls:
            _say("", f"at {url}")
    if manifest is not None:
        _say("raw files", str(raw_files))
        for raw in manifest.files[:20]:
            _say("", f"{raw.file}, {raw.bytes:,} bytes, {raw.sha256}, {raw.origin}, {raw.when}")
        if len(manifest.files) > 20:
            _say("", f"and {len(manifest.files) - 20:,} more")
        for difference in manifest.differences:
            _say("accepted", difference)


def show_header(header: Header | None, facts: Mapping[str, int]) -> None:
    """What was found in a data set, with what it is described as beside it."""
    if header is None:
        _say("described as", ", ".join(f"{fact:,} {name}" for name, fact in facts.items()))
        _say("parsed", "not yet; --parse reads it")
        return
    _say("parsed", header.folder)
    _say("fingerprint", header.fingerprint)
    _say("revision", header.revision)
    _say("found", header.found)
    for name in COUNTS:
        value = getattr(header, name)
        if value is None and name not in facts:
            continue  # texts have no features before they are counted
        shown = "none" if value is None else f"{value:,}"
        if name in facts:
            shown += f" (described as {facts[name]:,})"
        _say(name.replace("_", " "), shown)
    _say("multi-label", "yes" if header.multilabel else "no")
    for name, (train, test) in header.splits.items():
        _say("split", f"{name}: {train:,} + {test:,}")


def show_profile(profile: DataProfile) -> None:
    """What the content of a data set is like, and what of it is to be minded before learners are compared."""
    _say("classes of 1", f"{profile.singletons:,} (learnt or tested, never both)")
    _say(f"of 2 to {FEW - 1}", f"{profile.near_empty:,} classes")
    for which in ("smallest", "largest"):
        size: ClassSize = getattr(profile, which)
        _say(which, f"{in_a_line(size.name, 60)}, {counted(size.rows, 'row')}")
    if profile.unlabelled:
        _say("unlabelled", counted(profile.unlabelled, "row"))
    _say("empty or blank", counted(profile.empty, "row"))
    if profile.repeats is not None:
        _show_repeats(profile.repeats, profile.rows)
    quantiles = [f"{share:.0%} {length:,.0f}" for share, length in profile.lengths]
    _say("length", f"{profile.length_unit} that this share of rows has at most: {', '.join(quantiles)}")
    if profile.taxonomy_nodes is not None:
        _say("taxonomy", f"{profile.taxonomy_nodes:,} nodes, depth {profile.taxonomy_depth}")


def _show_repeats(repeats: Repeats, rows: int) -> None:
    _say("repeated texts", f"{counted(repeats.rows, 'row')} ({repeats.rows / rows:.1%}) whose text stands above")
    _say("conflicting", f"{counted(repeats.conflicting, 'row')} whose text stands elsewhere with other labels")
    _say("highest R1", f"{repeats.highest_r1:.4f} on all rows, since equal texts get equal answers")


def _say(key: str, value: str) -> None:
    if not value:
        return
    lines = wrap_lines([value], reader_width() - KEY_WIDTH)
    for word, line in zip_longest([key], lines, fillvalue=""):
        click.echo(f"{word:<{KEY_WIDTH - 1}} {line}")


def show_bytes(n_bytes: int) -> str:
    """Bytes for people: 14.5 MB."""
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    size = float(n_bytes)
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 1000:
            return f"{size:,.1f} {unit}"
    return f"{size / 1000:,.1f} TB"
