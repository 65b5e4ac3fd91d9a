"""`RewardModel`: the frozen encoder and the head together. Loaded, saved, shared, and asked for scores."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, overload

import torch
import yaml
from huggingface_hub import ModelCard, PyTorchModelHubMixin, snapshot_download, whoami
from torch import Tensor, nn

from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi._util.files import copy_whole, write_whole
from cmi._util.hub import find_model
from cmi._util.weights import load_weights, read_shapes, save_weights
from cmi.reward.engine.token_cache import TokenCache
from cmi.reward.model.blend import BlendedHead
from cmi.reward.model.checkpoint import (
    CONFIG,
    HARMLESS,
    WEIGHTS,
    check_keys,
    config_of,
    head_config,
    read_config,
    split_state,
)
from cmi.reward.model.encoders import DEFAULT_ENCODER, FrozenEncoder, make_encoder
from cmi.reward.model.head import PromptTokens, RewardHead
from cmi.reward.model.tokenizer import TOKENIZER_FILES, Tokenize
from cmi.reward.model.validation import validated_on
from cmi.reward.scoring.differentiable import TensorScore, make_differentiable
from cmi.reward.scoring.scorer import RewardScorer
from cmi.take import Prompt, Score, Take

Precision = Literal["auto", "fp32", "bf16"]
PUBLISHED = "HaiwenXia/CMI-RM"
BUNDLED = ("nano",)


class TakeComparison(NamedTuple):
    """How probably the first of two takes is preferred: on each axis, and by the mean of both."""

    musicality: float
    alignment: float
    overall: float


class RewardModel(
    nn.Module,
    PyTorchModelHubMixin,
    library_name="cmi",
    pipeline_tag="audio-classification",
    tags=["music", "reward-model"],
    model_card_template=Path(__file__).with_name("model_card.md").read_text(encoding="utf-8"),
):
    """CMI-RM: a take and its prompt in, musicality and alignment out.

    model = RewardModel.from_pretrained("CMI-RM/")
    model.score(Take(Prompt("slow sad piano"), Path("take.flac")))
    """

    def __init__(
        self,
        encoder: FrozenEncoder,
        head: RewardHead,
        name: str = "",
        folder: Path | None = None,
        tokenize: Tokenize | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.name = name  # with the revision; goes into every output. '' for weights that no file holds
        self.folder = folder  # where it was loaded from
        self._tokenize = tokenize
        self._hub_mixin_config = None  # else the arguments above would be saved as a config.json
        self.eval()

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, name: Path | str, revision: str | None = None, device: str = "auto", precision: Precision = "auto"
    ) -> Self:
        """The model in a folder or on the hub with the authors' `model.safetensors` and `config.yaml`, or a short name.

        `nano` comes with cmi, `cmi-rm` is the published one, and `auto` is the latter if it is on disk, else nano.

        The device is `auto` (a GPU if there is one), `cpu`, `cuda` or `mps`; precision is bf16 on CUDA, else fp32.
        """
        folder, full_name = find_model(str(_place(str(name))), revision, "the reward model")
        path = folder / WEIGHTS
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected a folder with {WEIGHTS}")
        shapes = read_shapes(path)
        config = read_config(folder)
        try:
            encoder = make_encoder(config.encoder, shapes)
            with torch.device("meta"):
                kind = BlendedHead if encoder.tagged else RewardHead
                head = kind(head_config(shapes, config))
            model = cls(encoder, head)
            idle = tuple(f"{part}." for part, module in model.head.named_children() if isinstance(module, nn.Identity))
            used = {key: shape for key, shape in shapes.items() if not key.startswith(idle)}  # as at a factor of 1
            expected = {key: tuple(tensor.shape) for key, tensor in model.checkpoint_state().items()}
            check_keys(expected, used)
            if encoder.dim != head.config.dim:
                raise InputError(f"the encoder's tokens are {encoder.dim} wide, its head takes {head.config.dim}")
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        state = load_weights(path, expected)
        for key, tensor in state.items():
            if not tensor.is_floating_point() and not HARMLESS.match(key):
                raise InputError(f"{path}: {key} is {tensor.dtype}, expected floating-point numbers")
        # The checkpoint's tensors take the place of the empty ones: nothing is initialised only to be overwritten.
        for part_name, part in split_state(state).items():
            getattr(model, part_name).load_state_dict(part, strict=False, assign=True)
        model.encoder.restore_buffers()
        model.name, model.folder = full_name, folder
        return model.float().placed(choose_device(device), precision)

    def placed(self, device: torch.device, precision: Precision = "auto") -> Self:
        """On a device, in its precision. Spectrograms, batch norms and the last layers stay in fp32 even in bf16."""
        self.to(device)
        wanted = precision == "bf16" or (precision == "auto" and device.type == "cuda")
        if wanted and not self.encoder.exact:
            exact = (nn.modules.batchnorm._BatchNorm,)
            modules = [module for part in (self.encoder, self.head) for module in part.modules()]
            last = set(self.head.score_projector.modules())
            for module in modules:
                if not isinstance(module, exact) and module not in last:
                    for parameter in module.parameters(recurse=False):
                        parameter.data = parameter.data.bfloat16()
        return self

    def plain(self) -> Self:
        """Without what a `BlendedHead` adds to the head that was trained: what a training starts from."""
        if isinstance(self.head, BlendedHead):
            plain = RewardHead(self.head.config)
            plain.load_state_dict(self.head.state_dict(), strict=False)
            self.head, self.encoder = plain, self.encoder.plain()
        return self

    @property
    def precision(self) -> str:
        return "bf16" if next(self.head.parameters()).dtype == torch.bfloat16 else "fp32"

    @property
    def full_name(self) -> str:
        """Which model spoke."""
        return (self.name or "untrained") + ("" if self.precision == "fp32" else f" in {self.precision}")

    @property
    def encoder_name(self) -> str:
        """Names the encoder's weights and precision; '' if they have no name, so that nothing is kept of them."""
        if self.encoder.fingerprint:  # whatever the head
            return f"{self.encoder.name} {self.encoder.fingerprint}"
        return f"{self.name} {self.precision}" if self.name else ""

    def tokenize(self, text: str) -> list[int]:
        """A text's token ids, all of them, between a start and an end token."""
        if self._tokenize is None:
            self._tokenize = self.encoder.load_tokenizer(self.folder)
        return self._tokenize(text)

    def _save_pretrained(self, save_directory: Path) -> None:
        """Weights under the authors' names, the configuration beside them, and the tokenizer if it came with them."""
        save_weights(self.checkpoint_state(), save_directory / WEIGHTS)
        write_whole(save_directory / CONFIG, yaml.safe_dump({"model": self._config()}, sort_keys=False))
        for file in TOKENIZER_FILES:
            if self.folder is not None and (self.folder / file).is_file():
                copy_whole(self.folder / file, save_directory / file)

    def _config(self) -> dict[str, Any]:
        stated = {} if self.encoder.name == DEFAULT_ENCODER else {"encoder": self.encoder.name}
        return {**config_of(self.head.config), **stated}

    def generate_model_card(self, *arguments: Any, **stated: Any) -> ModelCard:
        """The card, with what the model was validated on unless other figures are stated."""
        return super().generate_model_card(*arguments, **{"figures": validated_on(self.name), **stated})

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """To the hub, with a card that says how to load it from there; options as in `PyTorchModelHubMixin`."""
        if "/" not in repo_id:
            repo_id = f"{whoami(options.get('token'))['name']}/{repo_id}"
        stated = options.pop("model_card_kwargs", None) or {}
        return super().push_to_hub(repo_id, model_card_kwargs={"repo_id": repo_id, **stated}, **options)

    def checkpoint_state(self) -> dict[str, Tensor]:
        """All weights under the authors' names."""
        return {**self.encoder.state_dict(), **self.head.state_dict()}

    def hear(self, samples: Tensor) -> Tensor:
        """The tokens of one recording at the encoder's rate, in chunks of 30 s: (n,) -> (1, T, D).

        A last chunk of less than `encoder.shortest` samples is too short to be heard and left out; a whole recording
        that short is refused.
        """
        encoder = self.encoder
        chunks = [chunk for chunk in torch.split(samples, encoder.chunk) if len(chunk) >= encoder.shortest]
        if not chunks:
            raise InputError(f"{len(samples)} samples are too short to be heard: {encoder.shortest} are the fewest")
        return torch.cat([encoder.encode_sound(chunk[None]) for chunk in chunks], dim=1)

    def forward(self, prompt: PromptTokens, take: Tensor) -> Tensor:
        """Scores of takes under their prompts, both as tokens: (B, 2) alignment, musicality."""
        return self.head(prompt, take)

    def scorer(self, **options: Any) -> RewardScorer:
        """An engine for many takes; options as in `RewardScorer`. Tokens of files are kept in the user's cache."""
        return RewardScorer(self, **{"cache": TokenCache(), **options})

    @overload
    def score(self, takes: Take, **options: Any) -> Score: ...

    @overload
    def score(self, takes: Sequence[Take], **options: Any) -> list[Score]: ...

    def score(self, takes: Take | Sequence[Take], **options: Any) -> Score | list[Score]:
        """The score of a take, or of each of several; options as in `RewardScorer`."""
        several = [takes] if isinstance(takes, Take) else takes
        scores = self.scorer(**options).score(several)
        return scores[0] if isinstance(takes, Take) else scores

    def differentiable(self, prompt: Prompt) -> Callable[[Tensor], TensorScore]:
        """A function from waveforms to scores that gradients flow back through: see `make_differentiable`."""
        return make_differentiable(self, prompt)

    def compare(self, a: Take, b: Take, **options: Any) -> TakeComparison:
        """How probably `a` is preferred to `b`: the logistic function of the difference of their scores."""
        first, second = self.score([a, b], **options)
        musicality, alignment = (one - other for one, other in zip(first, second, strict=True))
        return TakeComparison(*map(_logistic, (musicality, alignment, (musicality + alignment) / 2)))


def _place(name: str) -> Path | str:
    """The folder or hub id that a short name stands for; a folder of that name where the user is comes first."""
    if Path(name).exists() or "/" in name:
        return name
    if name == "auto":
        name = default_model()
    if name in BUNDLED:
        return Path(__file__).parent / "weights" / name
    if name in ("cmi-rm", PUBLISHED):
        return PUBLISHED
    raise InputError(f"no reward model is called {name!r}: expected nano, cmi-rm, a folder, or a hub id (owner/name)")


def default_model() -> str:
    """The published CMI-RM if the hub's client has it on disk, else nano: nothing is downloaded unasked."""
    try:
        snapshot_download(PUBLISHED, local_files_only=True)
    except (OSError, ValueError):
        return "nano"
    return PUBLISHED


def _logistic(x: float) -> float:
    return 0.5 * (1 + math.tanh(x / 2))
