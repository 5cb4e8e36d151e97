"""CLINC150: requests to a voice assistant by intent, with the ten domains above the 150 intents.

Tokens are lower-cased runs of letters and digits; stop words are kept, since requests are short. Requests out of scope
("oos_...") belong to no intent and are dropped. Format: data_full.json maps "train", "val" and "test" to lists of
[request, intent]; domains.json maps each domain to its intents.
"""

from __future__ import annotations

import json
import re
from typing import Any

from harness import Dataset
from harness.sdk.reading.raw import RawFiles
from harness_text.classes import beside, counted_words, laid_end_to_end, part_splits, positions, tree_of_paths

RAW = RawFiles(
    dataset="clinc150",
    needed="data_full.json and domains.json of github.com/clinc/oos-eval",
    wanted=re.compile(r"(?:^|/)(data_full|domains)\.json$"),
    archive="oos-eval.zip",
)
PARTS = {"train": "train", "val": "validation", "test": "test"}
PUBLISHED = {"train": 15_000, "val": 3_000, "test": 4_500}


def load_clinc150(*, source: str | None = None) -> Dataset:
    """Load the requests of all three parts.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the two files. None uses imported or downloaded files.

    Returns
    -------
    Dataset
        The parts one after the other, with the splits "train-test", "train-validation" and so on.

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    files = {match[1]: _parsed(match.string, content) for match, content in RAW.read(source)}
    for name in ("data_full", "domains"):
        if name not in files:
            raise RAW.error(f"{name}.json is not there, expected {RAW.needed}")
    domain = _domains(files["domains"])
    intents = sorted(domain)
    texts: list[str] = []
    labels: dict[str, list[str]] = {}
    sizes = []
    for key, part in PARTS.items():
        requests = _requests(files["data_full"], key, domain)
        texts += [text for text, _ in requests]
        labels[part] = [intent for _, intent in requests]
        sizes.append(beside(len(requests), PUBLISHED[key]))
    row_labels, row_parts = laid_end_to_end(labels)
    shown = " + ".join(sizes)
    return Dataset(
        X=None,
        y=positions(row_labels, intents),
        class_names=tuple(intents),
        taxonomy=tree_of_paths("clinc150", [(domain[intent], intent) for intent in intents]),
        splits=part_splits(row_parts),
        found=f"{shown} requests, {len(intents)} intents, {len(set(domain.values()))} domains",
        texts=texts,
        counting=counted_words("alphanumeric", english=False),
    )


def _parsed(name: str, content: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RAW.error(f"{name} is not JSON ({error})", "Download it again.") from error
    if not isinstance(parsed, dict):
        raise RAW.error(f"{name} holds a {type(parsed).__name__}, expected a mapping")
    return parsed


def _domains(domains: dict[str, Any]) -> dict[str, str]:
    """Return the domain of each intent."""
    domain: dict[str, str] = {}
    for name, intents in domains.items():
        for intent in _listed("domains.json", name, intents):
            if intent in domain:
                raise RAW.error(f"domains.json has {intent!r} in two domains")
            domain[str(intent)] = name
    return domain


def _requests(data: dict[str, Any], part: str, domain: dict[str, str]) -> list[tuple[str, str]]:
    """Return the requests of a part and their intents."""
    rows = _listed("data_full.json", part, data.get(part))
    for number, row in enumerate(rows):
        if not _is_request(row):
            raise RAW.error(f"data_full.json, {part}[{number}]: expected [request, intent]")
        if row[1] not in domain:
            raise RAW.error(f"data_full.json, {part}[{number}]: {row[1]!r} is in no domain")
    return list(map(tuple, rows))


def _is_request(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 2 and all(isinstance(text, str) for text in row)


def _listed(file: str, key: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise RAW.error(f"{file}: expected a list under {key!r}, found {type(value).__name__}")
    return value
