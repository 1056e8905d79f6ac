"""Agree, among the senders, on the last slot."""

from __future__ import annotations

from multiprocessing.context import SpawnContext

from contract.errors import ServiceFailed

_LOCK_S_MAX = 10.0


class Gate:
    """Which slots may begin. One lock, so that all senders end with the same slot.

    A sender passes it before each slot. Closing it lets the furthest slot that any sender has
    begun be the last for all, those behind included.
    """

    def __init__(self, context: SpawnContext, slots_max: int) -> None:
        self._lock = context.Lock()
        self._begun = context.Value("q", -1, lock=False)
        self._last = context.Value("q", slots_max - 1, lock=False)

    def is_past(self, slot: int) -> bool:
        """Whether there is no use in waiting for that slot; `begin` has the last word."""
        return slot > int(self._last.value)

    def begin(self, slot: int) -> bool:
        """Whether that slot may be sent; if so it counts as begun."""
        self._acquire()
        try:
            if slot > self._last.value:
                return False
            self._begun.value = max(self._begun.value, slot)
            return True
        finally:
            self._lock.release()

    def limit(self, slots: int) -> None:
        """Let no more slots than that begin: before any has."""
        self._last.value = min(self._last.value, slots - 1)

    def close(self) -> int:
        """Let no further slot begin; gives the last one."""
        self._acquire()
        try:
            self._last.value = min(self._last.value, self._begun.value)
            return int(self._last.value)
        finally:
            self._lock.release()

    def _acquire(self) -> None:
        # a sender that is killed inside the lock never gives it back
        if not self._lock.acquire(timeout=_LOCK_S_MAX):
            raise ServiceFailed(f"the senders' gate was held for {_LOCK_S_MAX:g} s")
