"""Keeps what the scripts cluster_*.py measure, and writes docs/cluster-figures.md from it.

    python benchmarks/cluster_page.py

writes the page anew from benchmarks/cluster_figures.json, where every script keeps its own part.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.machine import describe_machine

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cluster-figures.md"
FIGURES = Path(__file__).with_name("cluster_figures.json")
Found = dict[str, Any]


def measure_part(part: str, measure: Callable[[Path], Found]) -> None:
    """Measure a part in a folder that is removed afterwards, keep it with how busy the machine was, tell it."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder))
    machine = describe_machine()
    taken = {
        "processor": machine.processor,
        "cores": machine.cores,
        "cores_allowed": len(os.sched_getaffinity(0)),
        "load_before": load,
        "load_after": os.getloadavg()[0],
    }
    kept = json.loads(FIGURES.read_text())
    kept[part] = found | {"taken": taken}
    FIGURES.write_text(json.dumps(kept, indent=1) + "\n")
    PAGE.write_text(page_of(kept))
    print("\n".join(TELLING[part](kept[part])), flush=True)


def page_of(kept: dict[str, Found]) -> str:
    lines = [
        "# What a cluster costs, and what it survives",
        "",
        "Written by `python benchmarks/cluster_page.py` from what `benchmarks/cluster_*.py` measured; do not edit by",
        "hand. All processes of a part were on one machine. Where others used it too, as the load of each part shows,",
        "compare what stands in one table, not seconds between them: with few cores for many processes, a part mostly",
        "waits for its turn. [clusters.md](clusters.md) tells how a cluster is used.",
        "",
    ]
    for part, tell in TELLING.items():
        if part in kept:
            lines += [*tell(kept[part]), "", tell_taken(kept[part]["taken"]), ""]
    return "\n".join(lines).rstrip() + "\n"


def tell_taken(taken: Found) -> str:
    """How busy the machine was: with as much load as processes of its own, a part had the machine for itself."""
    return (
        f"On {taken['cores_allowed']} of {taken['cores']} cores ({taken['processor']}), load average "
        f"{taken['load_before']:.1f} before and {taken['load_after']:.1f} after."
    )


def tell_overhead(found: Found) -> list[str]:
    return [
        "## A warm trial",
        "",
        f"`pa` on `digits`, two trials at once, beyond fit and rank: medians of {found['rounds']} rounds of "
        f"{found['trials']} trials, in turn.",
        "",
        "| | seconds a trial |",
        "|---|---:|",
        f"| here, `--jobs 2` | {found['here']:.3f} |",
        f"| on two workers | {found['there']:.3f} |",
        f"| more on the cluster (aim: 0.1 at most) | {found['there'] - found['here']:.3f} |",
    ]


def tell_between(found: Found) -> list[str]:
    each = found["seconds_each"]
    return [
        "## Between two trials",
        "",
        f"{found['workers']} workers whose trials do nothing but sleep for {each:g} s: what passes on a worker from "
        f"one to the next is {1000 * found['between_seconds']:.0f} ms, over {found['trials']} trials. A worker has its "
        "next trial before it has ended one, so no answer has to be waited for.",
    ]


def tell_simulated(title: str) -> Callable[[Found], list[str]]:
    def tell(found: Found) -> list[str]:
        rows = [f"| {done:,} | {host:.0f} | {scheduler:.0f} |" for done, host, scheduler in found["memory_mb"]]
        each = 1000 / found["trials"]
        rate = found["trials"] / found["seconds"]
        most = found["trials"] / max(found["host_seconds"], found["scheduler_seconds"])
        return [
            f"## {title}",
            "",
            f"{found['trials']:,} trials planned, given to {found['workers']:,} workers and stored in "
            f"{found['seconds']:.0f} s, {rate:.0f} a second; {found['kept']:,} records "
            f"kept. The workers answer with what one real trial gave, after {found['seconds_each']:g} s. A trial took "
            f"{each * found['host_seconds']:.1f} ms of the host's processor time, planning, checking and storing "
            f"included, {each * found['scheduler_seconds']:.1f} ms of the scheduler's and "
            f"{each * found['workers_seconds']:.1f} ms of the workers'. By processor time alone, with a core "
            f"each, host and scheduler can take {most:.0f} a second: {60 * most:,.0f} workers busy whose trials last a "
            "minute.",
            "",
            "| trials stored | host, MB | scheduler, MB |",
            "|---:|---:|---:|",
            *rows,
        ]

    return tell


def tell_kills(found: Found) -> list[str]:
    names = ["killed_workers", "killed_hosts", "trials", "records", "lost", "repeated", "crashes"]
    return [
        "## Kills",
        "",
        "Four workers behind nannies and the host itself, killed with SIGKILL at random moments while trials ran; a "
        f"killed host was started again with the same command. It took {found['seconds']:.0f} s.",
        "",
        "| workers killed | hosts killed | trials | records | lost | repeated | crashes |",
        "|---:|---:|---:|---:|---:|---:|---:|",
        f"| {' | '.join(f'{found[name]:,}' for name in names)} |",
        "",
        "Lost are trials without a record, repeated are records beyond one a key. A crash is a record too: of those, "
        f"{found['lost_with_three']} say that three workers were lost with the trial.",
    ]


def tell_data(found: Found) -> list[str]:
    ratios = ", ".join(f"{ratio:.2f}" for ratio in found["ratios"])
    return [
        "## Data",
        "",
        f"{found['gigabytes']:.2g} GB in eight files to a worker's data home, and by a plain socket into a file, "
        f"in turn, {len(found['ratios'])} times; medians.",
        "",
        "| | MB a second |",
        "|---|---:|",
        f"| plain socket, nothing checked | {found['socket']:.0f} |",
        f"| to a worker, with checksums | {found['parcel']:.0f} |",
        "",
        f"The ratio was {found['ratio']:.2f} ({ratios}; aim: 0.5 at least). Host and worker grew by "
        f"{found['grown_mb']:.0f} MB at most.",
    ]


TELLING: dict[str, Callable[[Found], list[str]]] = {
    "overhead": tell_overhead,
    "between": tell_between,
    "many": tell_simulated("Many trials"),
    "kills": tell_kills,
    "data": tell_data,
    "simulated": tell_simulated("Many workers, simulated"),
}


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(page_of(json.loads(FIGURES.read_text())))
