"""Exact wording of messages, help texts and listings: one text file per command, below tests/public/snapshots.

`pytest --update-snapshots` (or HARNESS_UPDATE_SNAPSHOTS=1) writes the files again, in one process. Read the difference
before you commit it. To drop cases of deleted tests, delete the files before.

`python tests/parts/snapshots.py` prints all files as one text to read: help texts, errors, warnings and notes, then the
sentences below tables and on the page. Options that several commands share appear once, with the first of them.
"""

import os
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "public" / "snapshots"
VARIABLE = "HARNESS_UPDATE_SNAPSHOTS"


def check_snapshot(command, case, text):
    """Assert that the text of a case equals the one in the command's file, or write it."""
    path = FOLDER / f"{command}.txt"
    cases = read_cases(path)
    plain = text_of(text)
    if os.environ.get(VARIABLE):
        write_cases(path, cases | {case: plain})
        return
    assert case in cases, f"{path} has no case {case!r}: pytest --update-snapshots writes it"
    assert plain == cases[case], f"{case}: differs from {path}; pytest --update-snapshots accepts the new wording"


def text_for_reviewers():
    """Return all help texts, then all messages, as one text for a reviewer."""
    found = {path.stem: read_cases(path) for path in sorted(FOLDER.glob("*.txt"))}
    (overview,) = (text for case, text in found["harness"].items() if case == "harness --help")
    in_order = sorted(found, key=lambda command: overview.find(f"\n  {command} "))
    helps = [text for command in in_order for case, text in found[command].items() if case.endswith("--help")]
    parts = ["# Help texts", *_options_once(helps)]
    for title, belongs in SECTIONS.items():
        lines = [f"# {title}"]
        for command in in_order:
            texts = [text for case, text in found[command].items() if belongs(case)]
            once = {}  # one line of several that differ in numbers alone
            for line in "\n".join(texts).splitlines():
                once.setdefault(re.sub(r"[0-9.]+", "#", line), line)
            lines += [f"[{command}]", *once.values()] if texts else []
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


SECTIONS = {
    "Errors": lambda case: case.startswith("error: "),
    "Warnings and notes": lambda case: case.startswith(("warning: ", "note: ")),
    "Sentences of tables and of the page": lambda case: case.startswith("test_"),
}
"""Titles of the messages in the text for a reviewer, with the cases that belong to each."""
OPTION = re.compile(r"^  --?\w.*\n(?:   .*\n?)*", re.MULTILINE)


def _options_once(texts):
    """Return help texts in which an option that an earlier text has is only named."""
    seen, parts = set(), []
    for text in texts:
        again = []
        body = (
            f"{text}\n".replace("  [common options]\n", "").replace("\nOptions:\n", "\n").partition("\nCommands:\n")[0]
        )
        for option in OPTION.findall(body):
            words = " ".join(option.split())
            if words in seen:
                body = body.replace(option, "", 1)
                again += [] if words.endswith("Show this message and exit.") else [words.split()[0]]
            seen.add(words)
        parts.append(body.strip() + (f"\n  As above: {' '.join(again)}" if again else ""))
    return parts


def text_of(text):
    """Return lines without spaces at their ends; a sequence of texts has one text per line."""
    joined = text if isinstance(text, str) else "\n".join(text)
    return "\n".join(line.rstrip() for line in joined.strip("\n").splitlines())


def read_cases(path):
    """Return the texts of a file by case: a title at the margin, the lines below it indented."""
    if not path.exists():
        return {}
    cases, title = {}, None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(" "):
            title = line
            cases[title] = []
        elif title is not None:
            cases[title].append(line[4:])
    return {title: "\n".join(lines).strip("\n") for title, lines in cases.items()}


def write_cases(path, cases):
    path.parent.mkdir(exist_ok=True)
    parts = []
    for title in sorted(cases):
        lines = [f"    {line}".rstrip() for line in cases[title].splitlines()]
        parts.append("\n".join([title, *lines]) + "\n")
    path.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    print(text_for_reviewers())
