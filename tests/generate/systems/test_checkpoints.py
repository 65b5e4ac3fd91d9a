"""Models in this process, at their real sampling code: a take is what its prompt, seed and settings make of it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from cmi._util.errors import InputError, MissingExtra
from cmi.audio import Waveform
from cmi.generate import GeneratorStopped
from cmi.generate.checks import check_sound
from cmi.generate.load import load_generator
from cmi.generate.systems import bind_settings
from cmi.generate.systems.musicgen import ChromaExtractor, MusicGen
from cmi.take import Prompt

from . import tiny_checkpoints as tiny
from .tiny_checkpoints import RATE

pytestmark = pytest.mark.slow

VAE = "vae/diffusion_pytorch_model.safetensors"
# System on the command line, tiny checkpoint, settings for few steps, parts, channels.
SYSTEMS = [
    ("musicgen", "musicgen", "", ("text",), 1),
    ("musicgen", "musicgen-stereo", "", ("text",), 2),
    ("musicgen-melody", "musicgen-melody", "", ("text", "reference"), 1),
    ("stable-audio-open", "stable-audio", ",steps=3", ("text",), 2),
    ("audioldm2", "audioldm2", ",steps=3", ("text",), 1),
    ("musicldm", "musicldm", ",steps=3", ("text",), 1),
    ("ace-step", "ace-step", ",steps=2", ("text", "lyrics", "reference"), 2),
    ("ace-step", "ace-step-base", ",steps=2", ("text", "lyrics", "reference"), 2),
]


def tone(*pitches: float) -> Waveform:
    """A melody of one second a note."""
    notes = [np.sin(2 * np.pi * pitch * np.arange(RATE) / RATE) for pitch in pitches]
    return Waveform((0.5 * np.concatenate(notes)).astype(np.float32), RATE)


def differ(a, b) -> bool:
    return not np.array_equal(a.samples, b.samples)


@pytest.mark.parametrize(
    ("system", "name", "settings", "accepts", "channels"), SYSTEMS, ids=[one[1] for one in SYSTEMS]
)
def test_a_take_follows_from_its_prompt_and_seed(checkpoint, system, name, settings, accepts, channels):
    generator = load_generator(f"{system}:{checkpoint(name)}{settings}")
    assert generator.accepts == accepts
    state = torch.get_rng_state()
    first = generator.generate(Prompt("a slow waltz"), 0, 1.5)
    assert torch.equal(state, torch.get_rng_state())  # no other code's random numbers change
    assert (first.samples.shape, first.rate) == ((round(1.5 * RATE), channels), RATE)
    check_sound(first, 1.5)
    torch.manual_seed(5)
    assert not differ(first, generator.generate(Prompt("a slow waltz"), 0, 1.5))
    assert differ(first, generator.generate(Prompt("a slow waltz"), 1, 1.5))
    assert differ(first, generator.generate(Prompt("hard techno"), 0, 1.5))
    if "lyrics" in accepts:
        sung = generator.generate(Prompt("a slow waltz", "We hear the river"), 0, 1.5)
        assert differ(first, sung)
        assert differ(sung, generator.generate(Prompt("a slow waltz", "We see the hills"), 0, 1.5))
        check_sound(generator.generate(Prompt(lyrics="We hear the river"), 0, 1.5), 1.5)
    if "reference" in accepts:
        like = generator.generate(Prompt("a slow waltz", reference=tone(440, 523)), 0, 1.5)
        assert differ(first, like)
        assert not differ(like, generator.generate(Prompt("a slow waltz", reference=tone(440, 523)), 0, 1.5))
        assert differ(like, generator.generate(Prompt("a slow waltz", reference=tone(330, 370)), 0, 1.5))
        check_sound(generator.generate(Prompt(reference=tone(440)), 0, 1.5), 1.5)
    generator.close()


@pytest.mark.parametrize(("system", "name"), [one[:2] for one in SYSTEMS], ids=[name for _, name, *_ in SYSTEMS])
def test_half_precision_makes_another_take_of_the_same_kind(checkpoint, system, name):
    steps = "" if system.startswith("musicgen") else ",steps=1"
    half = load_generator(f"{system}:{checkpoint(name)},dtype=bfloat16{steps}")
    reference = tone(440, 523) if "reference" in half.accepts else None
    check_sound(half.generate(Prompt("a slow waltz", reference=reference), 0, 1.0), 1.0)
    assert half.settings["dtype"] == "bfloat16"


def test_the_channels_of_a_stereo_model_differ(checkpoint):
    stereo = load_generator(f"musicgen:{checkpoint('musicgen-stereo')}").generate(Prompt("a waltz"), 0, 1.5)
    assert not np.array_equal(stereo.samples[:, 0], stereo.samples[:, 1])


def test_settings_reach_the_model_and_are_recorded(checkpoint):
    folder = checkpoint("ace-step-base")
    plain = load_generator(f"ace-step:{folder},steps=2")
    other = load_generator(f"ace-step:{folder},steps=2,guidance=1.5,language=de,licence=CC0-1.0")
    assert (plain.name, other.name) == ("ace-step-base-steps-2", "ace-step-base-steps-2-guidance-1.5")
    assert (plain.licence, other.licence, plain.version) == ("MIT", "CC0-1.0", other.version)
    assert other.settings == {
        "checkpoint": "ace-step-base", "dtype": "float32", "steps": 2, "guidance": 1.5, "shift": 3.0, "language": "de",
    }  # fmt: skip
    assert differ(plain.generate(Prompt("a waltz"), 0, 1.0), other.generate(Prompt("a waltz"), 0, 1.0))


@pytest.mark.parametrize(("name", "steps", "guidance"), [("ace-step", 8, 1.0), ("ace-step-base", 50, 7.0)])
def test_ace_step_takes_as_many_steps_as_its_checkpoint_was_made_for(checkpoint, name, steps, guidance):
    settings = load_generator(f"ace-step:{checkpoint(name)}").settings
    assert (settings["steps"], settings["guidance"]) == (steps, guidance)


def test_a_negative_text_and_no_guidance_change_a_take(checkpoint):
    takes = [
        load_generator(f"audioldm2:{checkpoint('audioldm2')},steps=2{setting}").generate(Prompt("a waltz"), 0, 1.0)
        for setting in ("", ",negative=drums", ",guidance=1")
    ]
    assert differ(takes[0], takes[1]) and differ(takes[0], takes[2])


def test_weights_in_subfolders_are_part_of_the_version(checkpoint, tmp_path):
    first = load_generator(f"musicldm:{checkpoint('musicldm')}")
    shutil.copytree(checkpoint("musicldm"), tmp_path / "other")
    assert load_generator(f"musicldm:{tmp_path / 'other'}").version == first.version
    tiny.save_musicldm(tmp_path / "other")  # other random weights
    assert load_generator(f"musicldm:{tmp_path / 'other'}").version != first.version


def test_a_model_that_cannot_make_takes_so_long_says_so(checkpoint):
    with pytest.raises(GeneratorStopped, match="stable-audio makes takes of up to 3 s, but 4 s were requested"):
        load_generator(f"stable-audio-open:{checkpoint('stable-audio')}").generate(Prompt("x"), 0, 4.0)
    with pytest.raises(GeneratorStopped, match="musicgen makes takes of up to 30 s, but 31 s were requested"):
        load_generator(f"musicgen:{checkpoint('musicgen')}").generate(Prompt("x"), 0, 31.0)


def test_without_a_length_it_is_the_models_own(checkpoint):
    sound = load_generator(f"stable-audio-open:{checkpoint('stable-audio')},steps=1").generate(Prompt("x"), 0, None)
    assert len(sound.samples) == 3 * RATE


def test_the_scheduler_of_the_published_stable_audio_open(tmp_path):
    pytest.importorskip("torchsde")
    folder = tiny.save_stable_audio(tmp_path / "cosine", "CosineDPMSolverMultistepScheduler")
    takes = [
        load_generator(f"stable-audio-open:{folder},steps=3").generate(Prompt("x"), seed, 1.0) for seed in (0, 0, 1)
    ]
    assert not differ(takes[0], takes[1]) and differ(takes[0], takes[2])


def test_a_melody_is_its_strongest_pitch_classes(tmp_path):
    scale = [261.63, 293.66, 329.63, 349.23, 392.0, 440.0, 493.88]
    (tmp_path / "preprocessor_config.json").write_text(
        f'{{"sampling_rate": {RATE}, "n_fft": 4096, "hop_length": 1024}}'
    )
    features = ChromaExtractor(tmp_path).extract(tone(*scale))
    assert features.shape == (1, 1 + len(scale) * RATE // 1024, 12) and (features.sum(-1) == 1).all()
    middles = [round((second + 0.5) * RATE / 1024) for second in range(len(scale))]
    assert [int(features[0, frame].argmax()) for frame in middles] == [0, 2, 4, 5, 7, 9, 11]


def another(checkpoint, tmp_path: Path, name: str, change) -> Path:
    folder = tmp_path / "changed"
    shutil.copytree(checkpoint(name), folder)
    change(folder)
    return folder


def edit(path: Path, **changes) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("system", "name", "change", "sentence"),
    [
        ("musicgen", "stable-audio", None, r"config\.json: No such file or directory; expected the folder of a model"),
        ("stable-audio-open", "musicgen", None, r"model_index\.json: No such file .*; expected .* StableAudioPipeline"),
        ("stable-audio-open", "musicldm", None, "of the class 'MusicLDMPipeline', expected 'StableAudioPipeline'"),
        (
            "musicgen", "musicgen", lambda folder: edit(folder / "config.json", model_type="t5"),
            "a model of type 't5', expected musicgen or musicgen_melody",
        ),
        (
            "ace-step", "ace-step", lambda folder: edit(folder / "model_index.json", vae=["os", "path"]),
            "cannot be loaded as AceStepPipeline .'path' of 'os' is not the class of a model",
        ),
        (
            "ace-step", "ace-step", lambda folder: (folder / VAE).write_bytes(b"?"),
            "cannot be loaded as AceStepPipeline",
        ),
        ("musicldm", "musicldm", lambda folder: shutil.rmtree(folder / "vocoder"), "cannot be loaded as MusicLDM"),
        (
            "ace-step", "ace-step", lambda folder: edit(folder / "transformer/config.json", num_hidden_layers=10**9),
            "'num_hidden_layers' is 1,000,000,000, expected 1,000 at most",
        ),
        (
            "audioldm2", "audioldm2", lambda folder: drop_weight(folder / "unet/diffusion_pytorch_model.safetensors"),
            "unet: 1 of the model's weights are missing .conv_in.bias.; get its files again",
        ),
        (
            "audioldm2", "audioldm2", lambda folder: drop_weight(folder / "text_encoder_2/model.safetensors"),
            "text_encoder_2: 1 of the model's weights are missing",
        ),
    ],
)  # fmt: skip
def test_a_checkpoint_that_is_something_else_is_one_sentence(checkpoint, tmp_path, system, name, change, sentence):
    folder = checkpoint(name) if change is None else another(checkpoint, tmp_path, name, change)
    with pytest.raises(InputError, match=sentence) as caught:
        load_generator(f"{system}:{folder}")
    assert "\n" not in str(caught.value)


def drop_weight(path: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(path)
    name = "conv_in.bias" if "conv_in.bias" in weights else "encoder.final_layer_norm.weight"
    save_file({key: value for key, value in weights.items() if key != name}, path, {"format": "pt"})


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "musicgen:steps=3",
            "'steps=3' is not a setting; .* Its settings: checkpoint, licence, revision, device, dtype",
        ),
        ("musicgen:a,b", "'b' is not a setting"),
        ("stable-audio-open:steps=0", "stable-audio-open: 'steps' is 0, expected at least 1"),
        ("stable-audio-open:steps=many", "'steps' is 'many', expected a whole number"),
        ("ace-step:guidance=-1", "'guidance' is -1, expected at least 0"),
        ("ace-step:dtype=int8", "'dtype' is 'int8', expected one of auto, float32, float16, bfloat16"),
        ("musicgen:no/such/folder/here", "MusicGen model 'no/such/folder/here' is neither a folder here nor a hub id"),
        ("musicgen:., device=tpu", "device 'tpu' is not available"),
    ],
)
def test_a_setting_that_does_not_do_is_one_sentence(name, sentence, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=sentence):
        load_generator(name)


def test_digits_are_text_if_the_setting_is_text():
    (settings,) = bind_settings("00123,revision=0e5,top_k=7", MusicGen, "musicgen").args
    assert (settings.checkpoint, settings.revision, settings.top_k) == ("00123", "0e5", 7)


def test_what_is_not_installed_is_named_by_its_extra(monkeypatch, checkpoint):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "diffusers" else real(name))
    with pytest.raises(MissingExtra, match=r"ACE-Step in this process needs the generate extra: pip install"):
        load_generator(f"ace-step:{checkpoint('ace-step')}")
