"""Shared by the fake servers: an asyncio server in a thread that parses requests and writes given responses."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class ReceivedRequest(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    content: bytes


@contextmanager
def serve_in_thread(handle: Handler, port: int = 0) -> Iterator[str]:
    """Serve on the loopback interface; yield the address."""
    loop = asyncio.new_event_loop()
    listening = loop.run_until_complete(asyncio.start_server(handle, "127.0.0.1", port))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        listening.close()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
        loop.close()


async def read_request(reader: asyncio.StreamReader) -> ReceivedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return ReceivedRequest(method, path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


async def send_response(
    writer: asyncio.StreamWriter,
    status: int,
    content: bytes,
    headers: dict[str, str] | None = None,
    kind: str = "application/json",
    cut: bool = False,
) -> bool:
    """Send a response, or half of it; return whether the connection can be used again."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + (content[: len(content) // 2] if cut else content))
    await writer.drain()
    return not cut
