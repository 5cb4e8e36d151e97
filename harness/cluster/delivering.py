"""Deliveries: each parcel goes to each data home once, however many workers that share it ask for it at once."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass

from harness.cluster.calling import Caller
from harness.cluster.parcels import Parcel
from harness.cluster.sending import send_parcel


@dataclass(frozen=True)
class Delivered:
    """What an attempt's worker lacked was sent there; or could not be, which the error says."""

    attempt: str
    error: Exception | None = None


class Deliveries:
    """What is under way from this host."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._under_way: dict[tuple[str, str], Future[int]] = {}
        self._lock = threading.Lock()
        self.sent_bytes = 0

    def deliver(self, home: str, worker: str, parcels: Iterable[Parcel]) -> None:
        """Send the parcels to a data home by one of its workers, and wait; DataError where one cannot be taken.

        What another thread is sending there already is waited for; where that fails, this worker is tried.
        """
        for parcel in parcels:
            while not self._is_delivered((home, parcel.name), worker, parcel):
                pass

    def _is_delivered(self, wanted: tuple[str, str], worker: str, parcel: Parcel) -> bool:
        """Whether a parcel is there now: sent from here, or by another, which may have failed."""
        with self._lock:
            under_way = self._under_way.get(wanted)
            if under_way is None:
                own: Future[int] = Future()
                self._under_way[wanted] = own
        if under_way is not None:
            return under_way.exception() is None
        self._send(wanted, worker, parcel, own)
        return True

    def _send(self, wanted: tuple[str, str], worker: str, parcel: Parcel, sending: Future[int]) -> None:
        try:
            n_bytes = send_parcel(self._caller, worker, parcel)
            self.sent_bytes += n_bytes
            sending.set_result(n_bytes)
        except BaseException as error:
            sending.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._under_way[wanted]
