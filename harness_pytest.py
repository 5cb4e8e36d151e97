"""The pytest plugin: `pytest --harness-learner NAME` runs the conformance suite of harness as tests.

pytest imports this module in every run where harness is installed. Therefore it imports nothing of harness until one of
its options is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from unittest import SkipTest

import pytest

if TYPE_CHECKING:
    from harness.checks import Check
    from harness.checks.run import Checked

KINDS = ("learner", "dataset", "metric", "representation")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option for each kind of object."""
    group = parser.getgroup("harness", "conformance suite of harness")
    for kind in KINDS:
        group.addoption(
            f"--harness-{kind}",
            metavar="NAME",
            action="append",
            default=[],
            help=f"Run the checks of this {kind} as tests. Repeat it for several.",
        )


@pytest.hookimpl(tryfirst=True)  # so that -k and --last-failed select among the checks too
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the checks of each named object to the tests."""
    for kind in KINDS:
        for name in dict.fromkeys(config.getoption(f"--harness-{kind}")):
            subject = Conformance.from_parent(session, name=f"harness {kind} {name}", nodeid=f"harness {kind} {name}")
            subject.checked = _find(kind, name)
            items.extend(subject.collect())


def _find(kind: str, name: str) -> Checked:
    """Return the object of this kind and name.

    Raises
    ------
    pytest.UsageError
        If the name is unknown or belongs to another kind, or if a learner needs an environment of its own.
    """
    from harness.checks.run import find_checked  # noqa: PLC0415 (see the top of this module)
    from harness.errors import HarnessError  # noqa: PLC0415
    from harness.host.discovery import discover  # noqa: PLC0415

    try:
        checked = find_checked(name, discover())
    except HarnessError as error:
        raise pytest.UsageError(f"--harness-{kind}: {error}") from None
    if checked.kind != kind:
        raise pytest.UsageError(f"--harness-{kind}: {name} is a {checked.kind}. Use --harness-{checked.kind}.")
    if checked.environment is not None:
        raise pytest.UsageError(f"--harness-{kind}: {name} runs in its own environment. Use `harness check {name}`.")
    return checked


class Conformance(pytest.Collector):
    """The conformance suite of one object."""

    checked: Checked

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each check."""
        from harness.checks.run import checks_for  # noqa: PLC0415 (see the top of this module)

        for check in checks_for(self.checked.entry.spec, self.checked.params):
            test = ConformanceTest.from_parent(self, name=check.name)
            test.check = check
            yield test


class ConformanceTest(pytest.Item):
    """A check as a test. It is skipped if the check does not apply."""

    check: Check

    def runtest(self) -> None:
        try:
            self.check()
        except SkipTest as reason:
            pytest.skip(str(reason))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what failed, what was checked, and the line of the plugin; other errors have their traceback too."""
        from harness.checks import CheckFailed  # noqa: PLC0415 (see the top of this module)
        from harness.checks.run import line_of_failure  # noqa: PLC0415

        assert isinstance(self.parent, Conformance)
        where = line_of_failure(self.check, excinfo.value, self.parent.checked.entry.spec)
        lines = [f"{excinfo.typename}: {excinfo.value}", self.check.why, where]
        if not isinstance(excinfo.value, CheckFailed):
            lines.append(str(super().repr_failure(excinfo, style)))
        return "\n".join(line for line in lines if line)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the heading of a failure."""
        assert self.parent is not None
        return self.path, None, f"{self.parent.name}: {self.name}"
