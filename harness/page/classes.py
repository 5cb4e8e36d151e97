"""What a page tells of classes: which are most often taken for which, and of how many trials nothing can be told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.figures.answers import ReadAnswers
from harness.groups import Line
from harness.page.content import PageConfusion
from harness.wording import counted, in_a_line

MOST_CONFUSIONS = 12
LONGEST_NAME = 120


def confusions_of(line: Line, read_answers: ReadAnswers) -> tuple[PageConfusion, ...]:
    """The most frequent confusions of a line, over all of its trials whose answers are at hand."""
    rows: Counter[tuple[str, str]] = Counter()
    of: Counter[str] = Counter()
    read = []
    for record in line.finished:
        answers = read_answers(record)
        if answers is not None and answers.by_class is not None:
            read.append(answers.by_class)
    for one in read:
        for confusion in one.confusions:
            rows[confusion.truth, confusion.answer] += confusion.rows
    for one in read:
        of.update(one.class_rows)
    found = []
    for (truth, answer), count in rows.most_common(MOST_CONFUSIONS):
        found.append(PageConfusion(in_a_line(truth, LONGEST_NAME), in_a_line(answer, LONGEST_NAME), count, of[truth]))
    return tuple(found)


def tell_unread(lines: Sequence[Line], read_answers: ReadAnswers) -> str:
    """A sentence on trials of whose answers nothing is at hand; nothing where all are."""
    finished = unread = 0
    for line in lines:
        for record in line.finished:
            finished += 1
            unread += read_answers(record) is None
    if not unread:
        return ""
    which = "all trials" if unread == finished else f"{unread:,} of {counted(finished, 'trial')}"
    return (
        f"Of {which} the ranks or the data are not at hand here: nothing is told of their classes, and of how sure "
        "their answers are. A page that is made where both are tells it."
    )
