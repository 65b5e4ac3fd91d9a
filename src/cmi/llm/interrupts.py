"""Ctrl-C while answers are in flight: the first one asks nothing more and waits, the second does not wait.

Python's own KeyboardInterrupt strikes anywhere, also between a response and the disk. Here the signal is noted, and
raised where nothing can be lost.
"""

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Generic, Self, TypeVar

Item = TypeVar("Item")
PATIENCE = 2  # signals after which Python's own way is taken


class Interruptible(Generic[Item]):
    """The items of an asynchronous generator, for a caller that is not; KeyboardInterrupt after a Ctrl-C."""

    def __init__(self, items: AsyncGenerator[Item, None]) -> None:
        self._items = items
        self._runner = asyncio.Runner()
        self._signals = 0
        self._step: asyncio.Task[Item | None] | None = None
        self._before: Any = None

    def __enter__(self) -> Self:
        self._runner.__enter__()
        is_ours = threading.current_thread() is threading.main_thread()
        if is_ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._runner.run(self._close())
            self._runner.__exit__(kind, error, traceback)
        finally:
            if self._before is not None:
                signal.signal(signal.SIGINT, self._before)

    def next(self) -> Item | None:
        """The next item, None after the last."""
        item = None if self._signals else self._runner.run(self._next())
        if self._signals:
            raise KeyboardInterrupt
        return item

    async def _next(self) -> Item | None:
        self._step = asyncio.ensure_future(anext(self._items, None))
        if self._signals:  # before there was a step to cancel
            self._step.cancel()
        with suppress(asyncio.CancelledError):
            return await self._step
        return None

    async def _close(self) -> None:
        self._step = asyncio.ensure_future(self._items.aclose())
        with suppress(asyncio.CancelledError):
            await self._step

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        if self._signals > PATIENCE:
            signal.default_int_handler(number, frame)
        self._runner.get_loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._step is not None:
            self._step.cancel()
