"""Talk to the evaluator: one process for a campaign, JSON lines in and out."""

from __future__ import annotations

import json
import os
import selectors
import time
from collections.abc import Callable
from typing import Any

from conductor.processes import Child
from contract.errors import ServiceFailed


class Evaluator:
    """The evaluator's process, warm from the start of the campaign."""

    def __init__(
        self,
        child: Child,
        pid: int | None = None,
        how_it_ended: Callable[[], str] | None = None,
    ) -> None:
        """`child` has pipes; the others are the evaluator's where the child but passes words on."""
        self.child = child
        self._how_it_ended = how_it_ended or child.how_it_ended
        self.pid = child.pid if pid is None else pid
        self._given: str | None = None

    def ask(
        self, order: dict[str, Any], timeout_s: float, tick: Callable[[str], None]
    ) -> dict[str, Any]:
        """Give one order and wait for its answer."""
        self.give(order)
        return self.take(timeout_s, tick)

    def give(self, order: dict[str, Any]) -> None:
        """Give one order; its answer is to be taken before the next is given."""
        assert self._given is None
        stdin = self.child.process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(order) + "\n")
            stdin.flush()
        except (BrokenPipeError, ValueError):
            raise self._died() from None
        self._given = str(order["do"])

    def take(self, timeout_s: float, tick: Callable[[str], None]) -> dict[str, Any]:
        """Wait for the answer to the order that was given."""
        line = self._line(timeout_s, tick)
        if not line.endswith(b"\n"):
            raise self._died()
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self.child.kill()
            raise ServiceFailed(f"the evaluator answered oddly: {line.decode(errors='replace')!r}")
        if not answer.get("ok"):
            raise ServiceFailed(f"the evaluator failed: {answer.get('says')}")
        return answer

    def _line(self, timeout_s: float, tick: Callable[[str], None]) -> bytes:
        """The answer's line; without its end if the evaluator died over it."""
        given, stdout = self._given, self.child.process.stdout
        assert given is not None and stdout is not None
        self._given = None
        deadline, line = time.monotonic() + timeout_s, b""
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if selector.select(0.25):
                    part = os.read(stdout.fileno(), 65536)
                    if not part:
                        break
                    line += part
                elif time.monotonic() > deadline:
                    # its answer, should it come, would be taken for that to the next order
                    self.child.kill()
                    raise ServiceFailed(
                        f"the evaluator did not {given} within {timeout_s:.0f} s; "
                        f"its log: {self.child.log}"
                    )
                else:
                    tick("")
        return line

    def stop(self) -> None:
        """Nothing of value is in it: end it now."""
        self.child.kill()

    def _died(self) -> ServiceFailed:
        self._given = None
        tail = "\n  ".join(self.child.log_tail(6))
        self.child.wait(5)
        return ServiceFailed(f"the evaluator {self._how_it_ended()}; its log ends:\n  {tail}")
