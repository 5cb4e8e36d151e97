"""Reports of the benchmarks: measurements as data in results/benchmarks/NAME, and a README drawn from them.

    python benchmarks/report.py

draws every README again without measuring. A benchmark saves its measurements section by section in `figures.json`;
benchmarks/reports.toml has the title, the question, the set-up and the findings. A finding quotes a measurement as
`{section|row|column}`, which is replaced by the number.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from harness.system.machine import describe_machine

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "results" / "benchmarks"
TEXTS = Path(__file__).with_name("reports.toml")
QUOTE = re.compile(r"\{([^|{}]*)\|([^|{}]+)\|([^|{}]+)\}")
Value = float | int | str | None
INDEX_HEAD = """\
# Benchmarks of harness itself

Time, memory and robustness of the learners and of the harness, beside other tools where they do the same. Each page has
its data (`figures.json`) and the command that measures it again. The machines were shared with other work: compare
ratios within a table, not seconds between tables.

| benchmark | question | answer |
|---|---|---|
""".splitlines()
INDEX_FILES = """\

[verdicts](verdicts/README.md) has the error rate and the power of the tests behind verdicts, by simulation;
[changed](verdicts/changed.md) lists the committed verdicts that differ from those of the sign test.

Three of the files in these pages are not distributed with harness. Any file of texts and codes can take their place.

- `noc2016-titles`: 43,171 job titles in 500 unit groups of Canada's National Occupational Classification 2016.
- `naics2017-index`: 20,057 index entries in 1,054 industries of the North American Industry Classification 2017.
- `syn12k`: synthetic rows in 12,000 classes with a taxonomy, shared words and confused siblings, as in `directory`.
""".splitlines()


@dataclass(frozen=True)
class Column:
    """A column of a table: heading, unit and decimals. `digits=None` shows three significant digits."""

    name: str
    unit: str = ""
    digits: int | None = 0

    @property
    def heading(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def show(self, value: Value) -> str:
        """Return the text of a cell, without the unit."""
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        if self.digits is None:
            return significant(value)
        return f"{value:,.{self.digits}f}"

    def quote(self, value: Value) -> str:
        """Return the text of a number in a sentence, with its unit."""
        text = self.show(value)
        if not self.unit or isinstance(value, str):
            return text
        return f"{text}{'' if self.unit == '%' else ' '}{self.unit}"


@dataclass(frozen=True)
class Table:
    """Rows of measurements; the first cells of a row name it."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]

    def render(self) -> list[str]:
        """Return the lines of the table in Markdown, numbers to the right."""
        lines = [f"| {' | '.join(column.heading for column in self.columns)} |"]
        texts = [any(isinstance(row[at], str) for row in self.rows) for at in range(len(self.columns))]
        lines.append("|" + "|".join("---" if at == 0 or text else "---:" for at, text in enumerate(texts)) + "|")
        for row in self.rows:
            cells = [column.show(value) for column, value in zip(self.columns, row, strict=True)]
            lines.append(f"| {' | '.join(cells)} |")
        return lines

    def find(self, row: str, column: str) -> str | None:
        """Return the quoted cell of a row, named by its first cells with " / " between them, and of a column."""
        for at, each in enumerate(self.columns):
            for cells in self.rows if each.name == column else ():
                names = [head.show(cell) for head, cell in zip(self.columns, cells, strict=True)]
                if any(" / ".join(names[:n]) == row for n in range(1, len(names))):
                    unit = cells[-1] if self.columns[-1].name == "unit" else each.unit
                    return replace(each, unit=str(unit or "")).quote(cells[at])
        return None


@dataclass(frozen=True)
class Section:
    """One part of a benchmark: what was measured, on which data, and where."""

    title: str
    tables: Sequence[Table]
    note: str = ""
    machine: str = ""

    def render(self) -> list[str]:
        """Return the section in Markdown."""
        lines = [f"### {self.title}", ""]
        lines += [self.note, ""] if self.note else []
        for table in self.tables:
            lines += [*table.render(), ""]
        return [*lines, f"Measured on {self.machine}", ""] if self.machine else lines


def facts(*rows: tuple[str, Value, str]) -> Table:
    """Return a table of single figures: name, value and unit each."""
    return Table([Column("measurement"), Column("value", digits=None), Column("unit")], rows)


def significant(value: float) -> str:
    """Return a number with three significant digits, without trailing zeros."""
    if value == 0 or float(value).is_integer():
        return f"{value:,.0f}"
    text = f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


# -- measuring -------------------------------------------------------------------------------------------------------


def measure_sections(name: str, parts: Iterable[Callable[[], Section]]) -> None:
    """Measure one section after the other; save and print each at once, since the last ones may take long."""
    for measure in parts:
        save_section(name, measure())


def save_section(name: str, section: Section) -> None:
    """Replace one section of a benchmark's figures and draw its README again.

    A section without a machine gets this one, with its load average.
    """
    section = section if section.machine else replace(section, machine=conditions())
    sections = {known.title: known for known in read_sections(name)} | {section.title: section}
    save_sections(name, list(sections.values()))
    print("\n".join(section.render()), flush=True)


def save_sections(name: str, sections: Sequence[Section]) -> None:
    """Write all figures of a benchmark, and its README."""
    folder = BENCHMARKS / name
    folder.mkdir(parents=True, exist_ok=True)
    content = {"sections": [asdict(section) for section in sections]}
    (folder / "figures.json").write_text(compact(content) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(draw(sections, read_texts()[name]), encoding="utf-8")
    (BENCHMARKS / "README.md").write_text(draw_index(), encoding="utf-8")


def compact(content: Any) -> str:
    """Return JSON with one line for each list of plain values: a row of a table is a line of the file."""
    text = json.dumps(content, indent=1, ensure_ascii=False)
    return re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda found: re.sub(r"\s*\n\s*", " ", found[0]), text)


def conditions() -> str:
    """Return the machine and its load average: sections may be of different machines."""
    machine = describe_machine()
    return f"{machine.processor}, {machine.cores} cores; load average {os.getloadavg()[0]:.1f}."


# -- drawing ---------------------------------------------------------------------------------------------------------


def read_texts() -> dict[str, Any]:
    """Return the texts of all benchmarks by name."""
    return tomllib.loads(TEXTS.read_text(encoding="utf-8"))


def read_sections(name: str) -> list[Section]:
    """Return the saved sections of a benchmark; none where it was never run."""
    file = BENCHMARKS / name / "figures.json"
    if not file.exists():
        return []
    sections = []
    for held in json.loads(file.read_text(encoding="utf-8"))["sections"]:
        tables = [Table([Column(**column) for column in t["columns"]], t["rows"]) for t in held["tables"]]
        sections.append(Section(held["title"], tables, held["note"], held["machine"]))
    return sections


def draw(sections: Sequence[Section], texts: Mapping[str, Any]) -> str:
    """Return the README of a benchmark."""
    lines = [f"# {texts['title']}", "", texts["question"].strip(), "", f"**{fill(texts['answer'], sections)}**", ""]
    lines += ["## Set-up", ""]
    lines += [f"- {line}" for line in texts["setup"]]
    lines += ["", "## Findings", ""]
    lines += [f"- {fill(line, sections)}" for line in texts["findings"]]
    if "missing" in texts:
        lines += ["", "## Limits", "", fill(texts["missing"].strip(), sections)]
    lines += ["", "## Measurements", ""]
    for section in sections:
        lines += section.render()
    lines += ["## Run it again", "", "```console", f"$ {texts['command']}", "```", ""]
    lines += [
        "The figures are in [figures.json](figures.json). `python benchmarks/report.py` draws this page from them."
    ]
    return "\n".join(lines) + "\n"


def draw_index() -> str:
    """Return results/benchmarks/README.md: one line per benchmark, with its answer."""
    texts = read_texts()
    lines = [*INDEX_HEAD]
    for page in sorted(BENCHMARKS.glob("*/README.md")):
        name = page.parent.name
        if name in texts:
            answer = fill(texts[name]["answer"], read_sections(name))
            lines.append(f"| [{name}]({name}/README.md) | {texts[name]['question'].strip()} | {answer} |")
        else:
            question, answer = question_and_answer(page.read_text(encoding="utf-8"))
            lines.append(f"| [{name}]({name}/README.md) | {question} | {answer} |")
    return "\n".join([*lines, *INDEX_FILES]) + "\n"


def question_and_answer(text: str) -> tuple[str, str]:
    """Return the question under the title of a page, and the answer in bold after it."""
    found = re.match(r"# [^\n]+\n\n([^\n]+)\n\n\*\*(.+?)\*\*\n", text)
    if found is None:
        raise ValueError(f"{text[:60]!r}: no question and answer under the title")
    return found[1], found[2]


def fill(text: str, sections: Sequence[Section]) -> str:
    """Replace each `{section|row|column}` by the measurement; an empty section means the first.

    Raises
    ------
    ValueError
        If no section has such a row and column.
    """

    def measured(quote: re.Match[str]) -> str:
        title, row, column = quote.groups()
        for section in sections if title else sections[:1]:
            if section.title.startswith(title):
                for table in section.tables:
                    cell = table.find(row, column)
                    if cell is not None:
                        return cell
        raise ValueError(f"{quote[0]}: no section has this row and column")

    return QUOTE.sub(measured, text)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for name, texts in read_texts().items():
        page = BENCHMARKS / name / "README.md"
        page.write_text(draw(read_sections(name), texts), encoding="utf-8")
        print(page.relative_to(ROOT))
    (BENCHMARKS / "README.md").write_text(draw_index(), encoding="utf-8")


if __name__ == "__main__":
    main()
