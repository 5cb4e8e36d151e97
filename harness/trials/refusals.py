"""Whether learners take the values that they are set up with: asked in a process of their own, before any training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.signature import import_target
from harness.trials.blueprint import Blueprint, build_estimator
from harness.wording import in_a_line

LONGEST_REFUSAL = 500
VALIDATIONS = ("check_params", "_validate_params")
"""What a learner may have to look at its own parameters: the host's own word for it, and scikit-learn's."""


def find_refusals(set_ups: Sequence[Blueprint], send: Callable[[str], None]) -> tuple[list[str], None]:
    """Why each learner refuses the parameters that it is set up with; an empty text where it does not."""
    send("looking at parameters")
    return [_refusal_of(blueprint) for blueprint in set_ups], None


def _refusal_of(blueprint: Blueprint) -> str:
    """What the learner, or one inside it, says; a learner that cannot be imported is left to its trials."""
    for value in blueprint.params.values():
        if isinstance(value, Blueprint) and (inside := _refusal_of(value)):
            return inside
    try:
        import_target(blueprint.load)
    except (Exception, SystemExit):
        return ""
    try:
        _validate(build_estimator(blueprint))
    except (ValueError, TypeError) as error:
        return in_a_line(str(error) or type(error).__name__, LONGEST_REFUSAL)
    except Exception:  # no refusal of a value: whatever it is, the trial meets it again and reports it with a traceback
        return ""
    return ""


def _validate(learner: Any) -> None:
    """Have a learner look at its parameters, where it can."""
    for name in VALIDATIONS:
        validation = getattr(learner, name, None)
        if callable(validation):
            validation()
            return
