"""Which items share a call: an item's padded length depends on itself alone, never on its neighbours.

The same kernels must run on the same shapes whatever the company, or rounding differs. On a GPU lengths are rounded up
to a step, and a batch that is not full is filled up. On a CPU, where that would cost time, each item is a call of its
own: sharing one saves next to nothing there.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Lengths = tuple[int, ...]


@dataclass(frozen=True)
class Batching:
    size: int  # items worked on together
    fixed: bool  # and in one call, which has one of a few shapes: lengths are rounded up and batches filled up
    device: torch.device

    def apply(self, call: Callable[..., Tensor], items: Sequence[tuple[Tensor, ...]], *steps: int) -> list[Tensor]:
        """The rows of `call(values, ..., lengths, ...)` on batches of items, in the order of the items.

        An item is one tensor (n, ...) for each step, padded to a multiple of it. Lengths are (B,), or None where
        nothing is padded.
        """
        rows: dict[int, Tensor] = {}
        for shape, chosen in self._batches([tuple(map(len, item)) for item in items], steps):
            filled = chosen + chosen[:1] * (self.size - len(chosen)) if self.fixed else chosen
            columns = [stack([items[i][j] for i in filled], n, self.device) for j, n in enumerate(shape)]
            out = call(*(values for values, _ in columns), *(lengths for _, lengths in columns))
            rows.update(zip(chosen, out, strict=False))  # what filled the batch up is dropped
        return [rows[i] for i in range(len(items))]

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


def stack(rows: Sequence[Tensor], length: int, device: torch.device) -> tuple[Tensor, Tensor | None]:
    """Rows (n, ...) padded with zeros to (B, length, ...) on `device`, and their lengths (B,) if any is shorter."""
    pinned = _to_pin(rows[0], device)
    shape = (len(rows), length, *rows[0].shape[1:])
    out = torch.empty(shape, dtype=rows[0].dtype, device=rows[0].device, pin_memory=pinned)
    for target, row in zip(out, rows, strict=True):
        if pinned:  # on one core: torch would ask for all of them, which the workers are busy on
            target[: len(row)].numpy()[...] = row.numpy()
        else:
            target[: len(row)] = row
        target[len(row) :] = 0
    values = out.to(device, non_blocking=pinned)
    if all(len(row) == length for row in rows):
        return values, None
    return values, to_device(torch.tensor([len(row) for row in rows]), device)


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """A copy, even where it is there already: what was given may be overwritten."""
    if _to_pin(tensor, device):
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device, copy=True)


def _to_pin(tensor: Tensor, device: torch.device) -> bool:
    """Pinned memory is copied while the GPU computes; for any other the GPU is waited for."""
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
