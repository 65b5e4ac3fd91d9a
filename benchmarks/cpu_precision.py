"""CMI-RM at full size on a CPU: what bf16, int8 and a compiled graph cost and change, against fp32 in the same run.

    python benchmarks/cpu_precision.py [--seconds 10] [--rounds 2] [--ways bf16 int8 compiled]

Weights are random. The numbers are processor seconds, which other work on the machine changes less than the clock, and
the largest change of the scores of eight chunks beside how far these scores spread.
"""

import argparse
import copy
import time
import warnings
from collections.abc import Callable

import torch
from reward_model import music
from torch import Tensor, nn

from cmi.reward.model.encoders.muq_mulan import RATE, AudioTower, MuQMuLanConfig
from cmi.reward.model.head import HeadConfig, RewardHead


class Scored(nn.Module):
    """The part of the model that a take passes through, under a fixed prompt."""

    prompt: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.tower, self.head = AudioTower(MuQMuLanConfig()), RewardHead(HeadConfig())
        self.register_buffer("prompt", torch.randn(1, 16, 768))

    def forward(self, chunk: Tensor) -> Tensor:
        tokens = self.tower(chunk)
        return self.head.judge(self.prompt.to(tokens.dtype), tokens)


def bf16(model: Scored) -> nn.Module:
    kept = (nn.modules.batchnorm._BatchNorm,)
    last = set(model.head.score_projector.modules())
    for module in model.modules():
        if not isinstance(module, kept) and module not in last:
            for parameter in module.parameters(recurse=False):
                parameter.data = parameter.data.bfloat16()
    return model


def int8(model: Scored) -> nn.Module:
    warnings.simplefilter("ignore")
    model.head.score_projector = nn.Sequential(*model.head.score_projector)  # the last layers stay in fp32
    return torch.ao.quantization.quantize_dynamic(
        model,
        {
            name
            for name, part in model.named_modules()
            if isinstance(part, nn.Linear) and "projector" not in name and "conv" not in name
        },
    )


def compiled(model: Scored) -> nn.Module:
    return torch.compile(model)  # type: ignore[return-value]


WAYS: dict[str, Callable[[Scored], nn.Module]] = {"bf16": bf16, "int8": int8, "compiled": compiled}


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--chunks", type=int, default=3)
    parser.add_argument("--ways", nargs="*", default=list(WAYS))
    options = parser.parse_args()
    torch.manual_seed(0)
    model = Scored().eval().requires_grad_(False)
    chunks = [torch.from_numpy(music(seed)[: options.seconds * RATE])[None] for seed in range(options.chunks)]
    print(f"{torch.get_num_threads()} threads; torch {torch.__version__}; chunks of {options.seconds} s", flush=True)
    exact = run("fp32", model, chunks, options.rounds, None)
    for way in options.ways:
        run(way, WAYS[way](copy.deepcopy(model)), chunks, options.rounds, exact)


def run(name: str, model: nn.Module, chunks: list[Tensor], rounds: int, exact: Tensor | None) -> Tensor:
    begin = time.process_time()
    model(chunks[0])
    first, took = time.process_time() - begin, []
    for _ in range(rounds):
        begin = time.process_time()
        found = torch.cat([model(chunk).float() for chunk in chunks])
        took.append((time.process_time() - begin) / len(chunks))
    change = "" if exact is None else f"; scores change by {(found - exact).abs().max():.5f} at most"
    rates = ", ".join(f"{one:.2f}" for one in took)
    print(f"{name:9} {rates} s a chunk; the first took {first:.1f}{change}; spread {found.std(0).tolist()}", flush=True)
    return found


if __name__ == "__main__":
    main()
