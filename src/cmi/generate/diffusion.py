"""Diffusion pipelines of diffusers as systems, loaded part by part: no remote code, no pickles, no missing weights."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from cmi._util.errors import InputError, MissingExtra, reason_of
from cmi._util.hub import quiet_transformers
from cmi._util.pretrained import SAFE, load_pretrained, require_all_weights, require_layers
from cmi._util.records import read_json
from cmi.generate.checkpoint import CheckpointGenerator, CheckpointSettings, Guidance, Steps, quiet_diffusers
from cmi.take import Prompt

if TYPE_CHECKING:
    import torch

INDEX = "model_index.json"


@dataclass(frozen=True, kw_only=True)
class DiffusionSettings(CheckpointSettings):
    """What every diffusion model can be set to.

    steps       of denoising
    guidance    how strongly the prompt steers; 1 turns it off
    """

    steps: Steps
    guidance: Guidance


@dataclass(frozen=True, kw_only=True)
class TextDiffusionSettings(DiffusionSettings):
    """The same, with `negative`: a text that describes what takes should not sound like."""

    negative: str


D = TypeVar("D", bound=DiffusionSettings)


class DiffusionGenerator(CheckpointGenerator[D]):
    """A text-to-music pipeline of diffusers; the noise that a take begins with is the same on every device."""

    pipeline: ClassVar[str]  # the name of its class in diffusers
    length_argument: ClassVar[str] = "audio_length_in_s"
    decoder: ClassVar[str] = "vae"  # the part that makes the sound
    replaced: ClassVar[Mapping[str, str]] = {}  # parts that need another transformers class than their file says

    def _load(self, folder: Path, dtype: str) -> Any:
        pipeline = load_pipeline(self.pipeline, folder, dtype, self.replaced, self.model_name)
        pipeline.set_progress_bar_config(disable=True)
        self.rate = int(getattr(pipeline, self.decoder).config.sampling_rate)
        with quiet_diffusers():
            return pipeline.to(self._device)

    @abstractmethod
    def _conditions(self, prompt: Prompt) -> dict[str, Any]:
        """Return what the pipeline is called with for this prompt."""

    def _sample(self, prompt: Prompt, seed: int, seconds: float | None) -> "torch.Tensor":
        import torch

        length = {} if seconds is None else {self.length_argument: seconds}
        made = self._model(
            **self._conditions(prompt),
            **length,
            num_inference_steps=self._chosen.steps,
            guidance_scale=self._chosen.guidance,
            generator=torch.Generator("cpu").manual_seed(seed),
            output_type="pt",
        )
        return made.audios[0]


class TextDiffusionGenerator(DiffusionGenerator[TextDiffusionSettings]):
    """A pipeline that takes a text and a negative text."""

    def _conditions(self, prompt: Prompt) -> dict[str, Any]:
        return {"prompt": prompt.text, "negative_prompt": self._chosen.negative}


def load_pipeline(kind: str, folder: Path, dtype: str, replaced: Mapping[str, str], called: str) -> Any:
    """Load the diffusers class `kind` from a folder; InputError if another pipeline or something else is in it."""
    import diffusers
    import torch

    pipeline = getattr(diffusers, kind, None)
    if pipeline is None:
        raise InputError(f"{called} needs a newer diffusers than {diffusers.__version__}")
    how = {"dtype": getattr(torch, dtype), "use_safetensors": True}
    parts = {}
    try:
        with quiet_transformers(), quiet_diffusers():
            for name, (library, part) in _read_parts(folder, kind).items():
                if any(folder.glob(f"{name}/*.safetensors")):
                    model = _find_class(library, replaced.get(name, part), pipeline)
                    parts[name] = _load_model(model, folder / name, how)
            return pipeline.from_pretrained(folder, **parts, **how, **SAFE)
    except InputError:
        raise
    except ImportError as error:  # a scheduler may need more than diffusers
        raise MissingExtra(f"{called} in this process", "generate") from error
    except Exception as error:  # a broken model may raise anything
        raise InputError(f"{folder}: cannot be loaded as {kind} ({reason_of(error)})") from error


def _read_parts(folder: Path, kind: str) -> dict[str, tuple[str, str]]:
    """Return the library and class of each part of a pipeline."""
    path = folder / INDEX
    if not path.exists():
        raise InputError(f"{path}: No such file or directory; expected the folder of a diffusers pipeline, {kind}")
    index = read_json(path)
    found = index.get("_class_name") if isinstance(index, dict) else None
    if found != kind:
        raise InputError(f"{folder}: a model of the class {found!r}, expected {kind!r}")
    return {
        name: (str(part[0]), str(part[1]))
        for name, part in index.items()
        if isinstance(part, list) and len(part) == 2 and all(part)
    }


def _find_class(library: str, part: str, pipeline: type) -> Any:
    """Return the class of a part: of transformers, of diffusers, or of the pipeline's own module."""
    import diffusers
    import transformers

    own = pipeline.__module__.split(".")[-2]
    places: dict[str, Any] = {"transformers": transformers, "diffusers": diffusers}
    if library == own:
        places[own] = getattr(diffusers.pipelines, own)
    found = getattr(places.get(library), part, None)
    if not isinstance(found, type) or not issubclass(found, transformers.PreTrainedModel | diffusers.ModelMixin):
        raise ValueError(f"{part!r} of {library!r} is not the class of a model")
    return found


def _load_model(kind: Any, folder: Path, how: Mapping[str, Any]) -> Any:
    import transformers

    if issubclass(kind, transformers.PreTrainedModel):
        return load_pretrained(kind, folder, dtype=how["dtype"])
    require_layers(folder)
    model, report = kind.from_pretrained(folder, local_files_only=True, output_loading_info=True, **how)
    require_all_weights(folder, report["missing_keys"])
    return model
