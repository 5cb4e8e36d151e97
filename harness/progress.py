"""What a run tells while it goes on. Whoever wants to hear it implements `Progress`; this one keeps silent."""

from __future__ import annotations

from typing import Protocol

from harness.record import Record
from harness.trials.trial import Trial


class Progress(Protocol):
    """Hears what happens in a run, in its order."""

    def say(self, text: str) -> None:
        """A line that stays."""

    def begin(self, total: int) -> None:
        """So many trials are about to run."""

    def on_data(self, name: str) -> None:
        """A data set is being read for the first time."""

    def on_phase(self, trial: Trial, phase: str, worker: str = "") -> None:
        """A trial has come to its next phase, and on which worker, where it does not run here."""

    def on_record(self, record: Record) -> None:
        """A trial has ended, and its record is kept."""

    def end(self) -> None:
        """The run is over, however it ended."""


class Silence:
    """Tells nothing."""

    def say(self, text: str) -> None: ...

    def begin(self, total: int) -> None: ...

    def on_data(self, name: str) -> None: ...

    def on_phase(self, trial: Trial, phase: str, worker: str = "") -> None: ...

    def on_record(self, record: Record) -> None: ...

    def end(self) -> None: ...
