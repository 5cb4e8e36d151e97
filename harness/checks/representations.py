"""What the host expects of a representation: that it is fitted on training rows alone, and gives what learners take."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.checks.check import NotApplicable, require
from harness.contract import RepresentationSpec
from harness.data.checking import checked_rows
from harness.errors import DataError
from harness.sdk.texts import Texts
from harness.signature import import_target
from harness.trials.parts import checksum
from harness.trials.represent import fit_transform

TEXTS = ("staff nurse", "head nurse, night", "Fahrer für Straßenbahnen", "тракторист", "tractor driver", "night driver")
COUNTS = np.array([[1, 0, 2, 0], [0, 3, 0, 1], [1, 1, 0, 0], [0, 0, 0, 4], [2, 0, 0, 1], [0, 1, 1, 0]], np.float32)
LABELS = np.array([0, 0, 1, 1, 2, 2])
TRAIN, TEST = np.array([0, 1, 2, 3]), np.array([4, 5])


def _rows(spec: RepresentationSpec) -> Any:
    return Texts.of(TEXTS) if spec.takes == "text" else csr_array(COUNTS)


def _made(spec: RepresentationSpec) -> Any:
    return import_target(spec.load)()


def _train_and_test(spec: RepresentationSpec, test: Any) -> tuple[csr_array, csr_array]:
    transformer, rows = _made(spec), _rows(spec)
    return checked_rows(fit_transform(transformer, rows[TRAIN], LABELS[TRAIN])), checked_rows(
        transformer.transform(test)
    )


def check_gives_rows_that_learners_can_take(spec: RepresentationSpec) -> None:
    rows = _rows(spec)
    try:
        train, test = _train_and_test(spec, rows[TEST])
    except (DataError, ValueError) as error:
        require(False, f"what it gives cannot be used: {error}")
        return
    require(train.shape[0] == TRAIN.size and test.shape[0] == TEST.size, "it gives another number of rows than it got")
    require(train.shape[1] == test.shape[1], "training and test rows have different columns")


def check_gives_nothing_negative_where_it_says_so(spec: RepresentationSpec) -> None:
    _, test = _train_and_test(spec, _rows(spec)[TEST])
    may_be = spec.gives == "vectors"
    require(may_be or bool((test.data >= 0).all()), f"gives={spec.gives!r}, but some values are negative")


def check_fit_transform_is_fit_then_transform(spec: RepresentationSpec) -> None:
    rows = _rows(spec)[TRAIN]
    first, second = _made(spec), _made(spec)
    at_once = checked_rows(fit_transform(first, rows, LABELS[TRAIN]))
    in_turn = checked_rows(second.fit(rows, LABELS[TRAIN]).transform(rows))
    require(np.allclose(at_once.toarray(), in_turn.toarray(), atol=1e-6), "fit_transform differs from fit, transform")


def check_a_test_row_is_seen_the_same_alone_and_in_company(spec: RepresentationSpec) -> None:
    rows = _rows(spec)
    train, alone = _train_and_test(spec, rows[TEST[:1]])
    same_train, together = _train_and_test(spec, rows[TEST])
    require(
        np.array_equal(alone.toarray(), together.toarray()[:1]), "a test row depends on the others: fit no test row"
    )
    require(checksum(train) == checksum(same_train), "two fits on the same rows differ: seed every random choice")


def check_leaves_its_rows_alone(spec: RepresentationSpec) -> None:
    if spec.takes == "text":
        raise NotApplicable("takes texts, which nobody can change")
    rows = _rows(spec)
    before = checksum(rows)
    _made(spec).fit(rows, LABELS).transform(rows)
    require(checksum(rows) == before, "it changed X: it must work on a copy")
