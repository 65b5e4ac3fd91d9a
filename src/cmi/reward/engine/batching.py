"""Batches whose results do not depend on the other items: an item's padded length depends on the item alone.

Libraries choose kernels by shape, and kernels round differently, so that an item must always be computed in the same
shape. On a GPU, lengths are padded to a multiple of a step, and incomplete batches are filled up. On a CPU each item is
computed on its own, because padding costs time there and batches save almost none.
"""

import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

Lengths = tuple[int, ...]
Column = tuple[Tensor, Tensor | None]  # values (B, n, ...), and lengths (B,) if any is shorter

FEW = 4  # a batch filled to at most 1 / FEW is computed item by item if that gives identical results
MOST_GRAPHS = 32  # CUDA graphs kept for a call, one per shape
LARGE = 2**20  # bytes from which a copy uses several threads and a CUDA stream of its own
COPY_THREADS = 4


@dataclass(frozen=True)
class Batching:
    size: int  # items per batch
    fixed: bool  # pad lengths and fill up batches, so that calls have few different shapes; otherwise item by item
    device: torch.device
    _recorded: "dict[Callable[..., Tensor], RecordedCall]" = field(default_factory=dict, compare=False, repr=False)
    _same_in_batch: dict[Any, bool] = field(default_factory=dict, compare=False, repr=False)

    def apply(
        self, call: Callable[..., Tensor], items: Sequence[tuple[Tensor, ...]], *steps: int, alone: bool = False
    ) -> list[Tensor]:
        """Return the rows of `call(values, ..., lengths, ...)` on batches of items, in the order of the items.

        An item has one tensor (n, ...) for each of `steps`, to a multiple of which it is padded. Lengths are (B,), or
        None if nothing is padded. With `alone`, few items are computed one by one if that gives bit-identical results.
        """
        rows: dict[int, Tensor] = {}
        for shape, chosen in self._batches([tuple(map(len, item)) for item in items], steps):
            few = alone and self.fixed and len(chosen) * FEW <= self.size
            if few and self._is_same_in_batch(call, items[chosen[0]], shape):
                rows.update((i, self.recorded(call)(*self._columns([items[i]], shape))[0]) for i in chosen)
                continue
            filled = chosen + chosen[:1] * (self.size - len(chosen)) if self.fixed else chosen
            out = call(*self._columns([items[i] for i in filled], shape))
            rows.update(zip(chosen, out, strict=False))  # rows that filled up the batch are dropped
        return [rows[i] for i in range(len(items))]

    def recorded(self, call: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """Return the same call, replayed as a CUDA graph if it runs on a GPU."""
        if self.device.type != "cuda":
            return call
        return self._recorded.setdefault(call, RecordedCall(call))

    def _columns(self, items: Sequence[tuple[Tensor, ...]], shape: Lengths) -> list[Tensor | None]:
        columns = [stack([item[j] for item in items], n, self.device) for j, n in enumerate(shape)]
        return [values for values, _ in columns] + [lengths for _, lengths in columns]

    def _is_same_in_batch(self, call: Callable[..., Tensor], item: tuple[Tensor, ...], shape: Lengths) -> bool:
        """Tell whether a call on one item gives exactly its row of a full batch; tested once for each shape."""
        key = call, shape, tuple(map(len, item)) == shape
        if key not in self._same_in_batch:
            one, full = (call(*self._columns([item] * count, shape)) for count in (1, self.size))
            self._same_in_batch[key] = torch.equal(one[0], full[0])
        return self._same_in_batch[key]

    def _batches(self, lengths: Sequence[Lengths], steps: Sequence[int]) -> Iterator[tuple[Lengths, list[int]]]:
        """Yield padded lengths with the indices of their items; unpadded items are apart, to run without masks."""
        if not self.fixed:
            yield from ((own, [i]) for i, own in enumerate(lengths))
            return
        groups: defaultdict[tuple[Lengths, tuple[bool, ...]], list[int]] = defaultdict(list)
        for i, own in enumerate(lengths):
            padded = tuple(-(-n // step) * step for n, step in zip(own, steps, strict=True))
            groups[padded, tuple(n == p for n, p in zip(own, padded, strict=True))].append(i)
        for (padded, _), members in groups.items():
            for start in range(0, len(members), self.size):
                yield padded, members[start : start + self.size]


class _CapturedGraph(NamedTuple):
    graph: torch.cuda.CUDAGraph
    inputs: list[Tensor | None]
    output: Tensor


class RecordedCall:
    """A call that is captured as a CUDA graph when a shape occurs for the second time, and replayed from then on.

    Launching hundreds of small kernels from Python takes several times as long as running them.
    """

    def __init__(self, call: Callable[..., Tensor]) -> None:
        self._call = call
        self._known: OrderedDict[Any, _CapturedGraph | None] = OrderedDict()
        self._failed = False

    def __call__(self, *inputs: Tensor | None) -> Tensor:
        if not torch.is_inference_mode_enabled():
            return self._call(*inputs)
        shapes = tuple(None if x is None else (x.shape, x.dtype) for x in inputs)
        if shapes not in self._known:
            self._known[shapes] = None
            return self._call(*inputs)
        recording = self._known[shapes]
        if recording is None and not self._failed:
            try:
                recording = self._known[shapes] = self._capture(inputs)
            except RuntimeError as error:  # some kernels cannot be captured
                self._failed = True
                warnings.warn(f"running without CUDA graphs, which is slower: {error}", stacklevel=2)
        if recording is None:
            return self._call(*inputs)
        self._known.move_to_end(shapes)
        while len(self._known) > MOST_GRAPHS:
            self._known.popitem(last=False)
        for own, given in zip(recording.inputs, inputs, strict=True):
            if own is not None and given is not None:
                own.copy_(given)
        recording.graph.replay()
        return recording.output.clone()

    def _capture(self, inputs: Sequence[Tensor | None]) -> _CapturedGraph:
        own = [None if x is None else x.clone() for x in inputs]
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):  # a warm-up run, because nothing may be initialised during the capture
            self._call(*own)
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=_graph_pool(), capture_error_mode="thread_local"):
            output = self._call(*own)
        return _CapturedGraph(graph, own, output)


@cache
def _graph_pool() -> Any:
    """Return a memory pool for all graphs; they can share it because they run in turn and their outputs are copied."""
    return torch.cuda.graph_pool_handle()


def stack(rows: Sequence[Tensor], length: int, device: torch.device) -> Column:
    """Return rows (n, ...) zero-padded to (B, length, ...) on `device`, and their lengths (B,) if any is shorter."""
    values = _stack_pinned(rows, length, device) if _to_pin(rows[0], device) else _pad(rows, length).to(device)
    if all(len(row) == length for row in rows):
        return values, None
    return values, to_device(torch.tensor([len(row) for row in rows]), device)


def _pad(rows: Sequence[Tensor], length: int) -> Tensor:
    padded = pad_sequence(list(rows), batch_first=True)
    missing = length - padded.shape[1]
    return functional.pad(padded, (0, 0) * (padded.ndim - 2) + (0, missing)) if missing else padded


def _stack_pinned(rows: Sequence[Tensor], length: int, device: torch.device) -> Tensor:
    """Stack rows in pinned memory, which is copied to the GPU while it computes."""
    out = torch.empty((len(rows), length, *rows[0].shape[1:]), dtype=rows[0].dtype, pin_memory=True)

    def fill(target: Tensor, row: Tensor) -> None:
        target[: len(row)].numpy()[...] = row.numpy()  # numpy copies in this thread; torch would use all cores
        target[len(row) :].numpy()[...] = 0

    if out.nbytes < LARGE:
        for target, row in zip(out, rows, strict=True):
            fill(target, row)
        return out.to(device, non_blocking=True)
    list(_copy_pool().map(fill, out, rows))
    here, beside = torch.cuda.current_stream(device), _copy_stream(device)
    with torch.cuda.stream(beside):
        values = out.to(device, non_blocking=True)
    here.wait_stream(beside)
    values.record_stream(here)
    return values


@cache
def _copy_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(COPY_THREADS, "cmi-copy")


@cache
def _copy_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor to `device`, even if it is there already, because the original may be overwritten."""
    if _to_pin(tensor, device):
        return (tensor if tensor.is_pinned() else tensor.pin_memory()).to(device, non_blocking=True)
    return tensor.to(device, copy=True)


def _to_pin(tensor: Tensor, device: torch.device) -> bool:
    return device.type == "cuda" and tensor.device.type == "cpu"


def to_host(tensors: Sequence[Tensor]) -> Callable[[], list[Tensor]]:
    """Start to copy tensors to the host; the returned function waits for the copies, but not for later GPU work."""
    if not tensors or not tensors[0].is_cuda:
        host = [tensor.cpu() for tensor in tensors]
        return lambda: host
    host = [torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True) for tensor in tensors]
    for target, tensor in zip(host, tensors, strict=True):
        target.copy_(tensor, non_blocking=True)
    done = torch.cuda.Event()
    done.record()

    def wait() -> list[Tensor]:
        done.synchronize()
        return host

    return wait
