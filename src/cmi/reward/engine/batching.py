"""Which items share a call: an item's padded length depends on itself alone, never on its neighbours.

The same kernels must run on the same shapes whatever the company, or rounding differs. On a GPU lengths are rounded up
to a step, and a batch that is not full is filled up. On a CPU, where that would cost time, each item is a call of its
own: sharing one saves next to nothing there.
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

FEW = 4  # a batch that is at most one FEW-th full is computed item by item where that changes nothing
RECORDINGS = 32  # shapes of a call that are kept
LARGE = 2**20  # bytes that are worth more than one thread, and a copy beside the computation
COPIERS = 4  # threads


@dataclass(frozen=True)
class Batching:
    size: int  # items worked on together
    fixed: bool  # and in one call, which has one of a few shapes: lengths are rounded up and batches filled up
    device: torch.device
    _recorded: "dict[Callable[..., Tensor], RecordedCall]" = field(default_factory=dict, compare=False, repr=False)
    _is_same_alone: dict[Any, bool] = field(default_factory=dict, compare=False, repr=False)

    def apply(
        self, call: Callable[..., Tensor], items: Sequence[tuple[Tensor, ...]], *steps: int, alone: bool = False
    ) -> list[Tensor]:
        """The rows of `call(values, ..., lengths, ...)` on batches of items, in the order of the items.

        An item is one tensor (n, ...) for each step, padded to a multiple of it. Lengths are (B,), or None where
        nothing is padded. With `alone`, few items are computed one by one if that gives the same to the last bit.
        """
        rows: dict[int, Tensor] = {}
        for shape, chosen in self._batches([tuple(map(len, item)) for item in items], steps):
            few = alone and self.fixed and len(chosen) * FEW <= self.size
            if few and self._gives_the_same_alone(call, items[chosen[0]], shape):
                rows.update((i, self.recorded(call)(*self._columns([items[i]], shape))[0]) for i in chosen)
                continue
            filled = chosen + chosen[:1] * (self.size - len(chosen)) if self.fixed else chosen
            out = call(*self._columns([items[i] for i in filled], shape))
            rows.update(zip(chosen, out, strict=False))  # what filled the batch up is dropped
        return [rows[i] for i in range(len(items))]

    def recorded(self, call: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """The same call, replayed from a recording where a GPU would wait for Python otherwise."""
        if self.device.type != "cuda":
            return call
        return self._recorded.setdefault(call, RecordedCall(call))

    def _columns(self, items: Sequence[tuple[Tensor, ...]], shape: Lengths) -> list[Tensor | None]:
        columns = [stack([item[j] for item in items], n, self.device) for j, n in enumerate(shape)]
        return [values for values, _ in columns] + [lengths for _, lengths in columns]

    def _gives_the_same_alone(self, call: Callable[..., Tensor], item: tuple[Tensor, ...], shape: Lengths) -> bool:
        """Whether a call on one item gives its row of a full batch; tried once for each shape.

        Libraries choose kernels by shape. Where another one rounds in another way, numbers differ after so many layers.
        """
        key = call, shape, tuple(map(len, item)) == shape
        if key not in self._is_same_alone:
            one, full = (call(*self._columns([item] * count, shape)) for count in (1, self.size))
            self._is_same_alone[key] = torch.equal(one[0], full[0])
        return self._is_same_alone[key]

    def _batches(self, lengths: Sequence[Lengths], steps: Sequence[int]) -> Iterator[tuple[Lengths, list[int]]]:
        """Padded lengths, and items that have them. What needs no padding stays apart: it runs without masks."""
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


class _Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    inputs: list[Tensor | None]
    output: Tensor


class RecordedCall:
    """A call on a GPU that is recorded when a shape comes for the second time, and replayed from then on.

    To launch hundreds of small kernels one by one takes Python several times as long as they run.
    """

    def __init__(self, call: Callable[..., Tensor]) -> None:
        self._call = call
        self._known: OrderedDict[Any, _Recording | None] = OrderedDict()
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
                recording = self._known[shapes] = self._record(inputs)
            except RuntimeError as error:  # of CUDA: some kernels cannot be recorded
                self._failed = True
                warnings.warn(f"computed without recordings, which is slower: {error}", stacklevel=2)
        if recording is None:
            return self._call(*inputs)
        self._known.move_to_end(shapes)
        while len(self._known) > RECORDINGS:
            self._known.popitem(last=False)
        for own, given in zip(recording.inputs, inputs, strict=True):
            if own is not None and given is not None:
                own.copy_(given)
        recording.graph.replay()
        return recording.output.clone()

    def _record(self, inputs: Sequence[Tensor | None]) -> _Recording:
        own = [None if x is None else x.clone() for x in inputs]
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):  # once more, so that nothing is set up while it is recorded
            self._call(*own)
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=_recordings_pool(), capture_error_mode="thread_local"):
            output = self._call(*own)
        return _Recording(graph, own, output)


@cache
def _recordings_pool() -> Any:
    """Memory that all recordings share: they are replayed one after the other, and their outputs copied."""
    return torch.cuda.graph_pool_handle()


def stack(rows: Sequence[Tensor], length: int, device: torch.device) -> Column:
    """Rows (n, ...) padded with zeros to (B, length, ...) on `device`, and their lengths (B,) if any is shorter."""
    values = _stack_pinned(rows, length, device) if _to_pin(rows[0], device) else _pad(rows, length).to(device)
    if all(len(row) == length for row in rows):
        return values, None
    return values, to_device(torch.tensor([len(row) for row in rows]), device)


def _pad(rows: Sequence[Tensor], length: int) -> Tensor:
    padded = pad_sequence(list(rows), batch_first=True)
    missing = length - padded.shape[1]
    return functional.pad(padded, (0, 0) * (padded.ndim - 2) + (0, missing)) if missing else padded


def _stack_pinned(rows: Sequence[Tensor], length: int, device: torch.device) -> Tensor:
    """Through pinned memory, which is copied while the GPU computes; for any other the GPU is waited for."""
    out = torch.empty((len(rows), length, *rows[0].shape[1:]), dtype=rows[0].dtype, pin_memory=True)

    def fill(target: Tensor, row: Tensor) -> None:
        target[: len(row)].numpy()[...] = row.numpy()  # by this thread alone: torch would ask for all cores
        target[len(row) :].numpy()[...] = 0

    if out.nbytes < LARGE:
        for target, row in zip(out, rows, strict=True):
            fill(target, row)
        return out.to(device, non_blocking=True)
    list(_copiers().map(fill, out, rows))
    here, beside = torch.cuda.current_stream(device), _copy_stream(device)
    with torch.cuda.stream(beside):
        values = out.to(device, non_blocking=True)
    here.wait_stream(beside)
    values.record_stream(here)
    return values


@cache
def _copiers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(COPIERS, "cmi-copy")


@cache
def _copy_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy, even where it is there already: what was given may be overwritten."""
    if _to_pin(tensor, device):
        return (tensor if tensor.is_pinned() else tensor.pin_memory()).to(device, non_blocking=True)
    return tensor.to(device, copy=True)


def _to_pin(tensor: Tensor, device: torch.device) -> bool:
    return device.type == "cuda" and tensor.device.type == "cpu"


def to_host(tensors: Sequence[Tensor]) -> Callable[[], list[Tensor]]:
    """Begin to copy tensors to the host's memory; the result waits for them, but not for what the GPU does next."""
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
