"""How many seconds of a clip does a model process? Some servers truncate recordings without saying so.

The probe
    A model is asked which sound it hears besides a soft piano: siren, drums, applause or none. Four clips:

    short     12 s with a siren             it can hear, and follows the question
    start     45 s with drums at its start  it hears the beginning of a long clip
    nothing   45 s of piano alone           it does not name a sound that is not there
    end       45 s with a siren in its last 10 s

    Only if the first three answers are right does the fourth tell something: a model that always gives one answer, or
    hears nothing, leads to 'not known'. If it missed the siren at the end, up to three more clips find the last stretch
    of 5 s in which it hears one, by bisection. So a verdict takes four to seven calls, and a cut is known to 5 s.

    If less than 45 s of a clip are sent (`Sending.seconds`, or what a local model takes), the clips have that length;
    if less than 20 s are sent, nothing is asked.

    A model that guesses at random passes the controls once in 64 times.

The result is kept in a file of the run. It is asked for once, and only for a run with a clip longer than 12 s.
"""

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util.config import check_config
from cmi._util.errors import InputError
from cmi._util.files import locked, make_folder, write_whole
from cmi._util.printable import shorten
from cmi._util.records import read_json
from cmi.audio import Waveform
from cmi.llm.budget import Estimate
from cmi.llm.message import AudioLLM, Failure, Request, Sound, stated_seconds, user

if TYPE_CHECKING:
    from cmi.llm.client import Chat  # needs httpx, which in-process models do not

HEARING = "hearing.json"
RATE = 16_000
SHORT, LONG = 12.0, 45.0  # seconds of the clips
LEAST = 20.0  # of a long clip, to have a beginning and an end
EVENT, STEP = 10.0, 5.0  # seconds that a sound lasts, at the ends and between
EDGE = 1.0  # seconds of piano before a sound at the beginning
KEPT = 200  # characters of an answer
LONGEST_NOTE = 300  # characters; a file with answers may come from anybody

QUESTION = (
    "A soft piano plays in this recording. At most one other sound is heard somewhere in it, perhaps only near the "
    "end: a siren, a drum kit, or applause. Listen to the whole recording. Which other sound is heard? Answer with one "
    "word: siren, drums, applause or none."
)
_WORDS = {
    **{"siren": "siren", "sirens": "siren", "alarm": "siren", "drum": "drums", "drums": "drums", "drumkit": "drums"},
    **{"applause": "applause", "clapping": "applause", "none": "none", "nothing": "none", "neither": "none"},
}
_DENIED = {"no", "not", "without", "isn't", "don't"}


@dataclass(frozen=True)
class ProbedHearing:
    """The seconds of a clip that a model processes, according to the probe."""

    model: str
    server: str  # its address; '' for a model in this process
    sent: float  # seconds of a long clip that it was sent
    seconds: float | None = None  # that it hears, in steps of 5; None: not known
    why: str = ""  # it is not known
    answers: Mapping[str, str] = field(default_factory=dict)  # to the clips of the probe

    @property
    def is_cut(self) -> bool:
        return self.seconds is not None and self.seconds < self.sent

    @property
    def note(self) -> str:
        """Say it in one line, for tables."""
        who = "this server" if self.server else "this model"
        if self.seconds is None:
            return f"it is not known how much of a clip {who} hears: {shorten(self.why, LONGEST_NOTE)}"
        if self.is_cut:
            return f"{who} hears {self.seconds:g} s of a clip (to within {STEP:g} s) and not what comes later"
        if not self.answers:
            return f"{who} is sent {self.sent:g} s of a clip"
        return f"{who} hears {self.seconds:g} s of a clip" + (" or more" if self.sent >= LONG else ", all it is sent")


class ProbeClip(NamedTuple):
    """A clip of soft piano, with at most one other sound from `start` to `end` in seconds."""

    seconds: float
    sound: str = "none"
    start: float = 0.0
    end: float = 0.0

    def waveform(self) -> Waveform:
        samples = _piano(self.seconds)
        if self.sound != "none":
            first, last = round(self.start * RATE), round(self.end * RATE)
            samples[first:last] += {"siren": _siren, "drums": _drums}[self.sound](last - first)
        return Waveform(samples.astype(np.float32), RATE)


def needs_probe(sounds: Iterable[Sound]) -> bool:
    """Whether any clip is long enough to be cut."""
    return any(stated_seconds(sound) > SHORT for sound in sounds)


def probe_requests(model: AudioLLM) -> list[Request]:
    """The requests that every probe begins with; three more may follow."""
    length = _long(model)
    return [_request(model, name, clip) for name, clip in _first(length).items()] if length >= LEAST else []


def estimate_probe(chat: "Chat", sounds: Iterable[Sound]) -> Estimate:
    """Estimate the cost of the probe, if any of the clips needs one."""
    requests = probe_requests(chat) if needs_probe(sounds) else []
    return replace(chat.estimate(requests), probe=len(requests))


def known_hearing(model: AudioLLM, path: Path, sounds: Iterable[Sound]) -> ProbedHearing | None:
    """Return what the file `path` says about the model, else ask and write it; None if no clip is long enough.

    InputError if the model cannot be asked at all. Failed requests leave no file, so they are asked again next time.
    """
    hearing = read_hearing(path)
    if hearing is not None and _is_about(hearing, model):
        return hearing
    if not needs_probe(sounds):
        return None
    make_folder(path.parent)
    with locked(path.with_name(path.name + ".lock")):  # shards of a run wait for the first
        hearing = read_hearing(path)
        if hearing is None or not _is_about(hearing, model):
            hearing = probe_hearing(model)
            if hearing.seconds is not None or hearing.answers:
                write_whole(path, json.dumps(asdict(hearing), indent=1) + "\n")
    return hearing


def read_hearing(path: Path) -> ProbedHearing | None:
    """Read the result of a probe; None if there is no such file."""
    if not path.is_file():
        return None
    content = read_json(path)
    hearing = check_config(content, ProbedHearing, str(path)) if isinstance(content, dict) else None
    if hearing is None or not all(0 < seconds <= LONG for seconds in (hearing.sent, hearing.seconds or LONG)):
        raise InputError(f"{path}: not the result of a probe; remove the file")
    return hearing


class UnusableAnswer(Exception):
    """The answers do not show whether the end of a clip was processed."""


class ProbeFailed(Exception):
    """A clip has no answer."""


def probe_hearing(model: AudioLLM) -> ProbedHearing:
    """Find out how much of a clip the model hears, by four to seven requests."""
    length = _long(model)
    texts: dict[str, str] = {}
    seconds, why = None, ""
    try:
        seconds = _find_seconds(model, length, texts) if length >= LEAST else length
    except UnusableAnswer as error:
        why = str(error)
    except ProbeFailed as error:
        why = f"a clip of the probe failed ({shorten(str(error), KEPT)})"
        texts.clear()
    answers = {name: shorten(text, KEPT) for name, text in texts.items()}
    return ProbedHearing(model.name, _server(model), length, seconds, why, answers)


def _find_seconds(model: AudioLLM, length: float, texts: dict[str, str]) -> float:
    """Return the seconds that are heard of a clip, and add the answers to `texts`."""
    texts |= _ask(model, _first(length))
    named = {name: read_answer(text) for name, text in texts.items()}
    _require_sense(named, length)
    if named["end"] == "siren":
        return length
    ends = np.arange(2 * STEP, length - EVENT + STEP / 2, STEP).tolist()  # of the stretches to ask about
    heard, missed = -1, len(ends)  # places in `ends`
    while missed - heard > 1:
        middle = (heard + missed) // 2
        name = f"siren to {ends[middle]:g} s"
        texts |= _ask(model, {name: ProbeClip(length, "siren", ends[middle] - STEP, ends[middle])})
        said = read_answer(texts[name])
        if said not in ("siren", "none"):
            raise UnusableAnswer(f"it names {said or 'nothing that can be read'} where a siren is")
        heard, missed = (middle, missed) if said == "siren" else (heard, middle)
    return float(ends[heard]) if heard >= 0 else STEP


def _require_sense(named: Mapping[str, str | None], length: float) -> None:
    if None in named.values():
        raise UnusableAnswer("its answers to the probe cannot be read")
    if named["short"] != "siren":
        raise UnusableAnswer(f"it does not hear a siren in a clip of {SHORT:g} s")
    if named["nothing"] != "none":
        raise UnusableAnswer(f"it names {named['nothing']} in a clip without")
    if named["start"] != "drums":
        raise UnusableAnswer(f"it does not hear the drums at the start of a clip of {length:g} s")
    if named["end"] not in ("siren", "none"):
        raise UnusableAnswer(f"it names {named['end']} where a siren is")


def read_answer(text: str) -> str | None:
    """Return the one sound that an answer names, 'none', or None if it names several or cannot be read.

    >>> read_answer("Siren.")
    'siren'
    >>> read_answer("There is no siren")
    >>> read_answer("siren or drums")
    """
    words = re.findall(r"[a-z']+", text[: 10 * KEPT].lower())
    named = {_WORDS[word] for word in words if word in _WORDS}
    if len(named) != 1 or (named != {"none"} and _DENIED & set(words)):
        return None
    return named.pop()


def _first(length: float) -> dict[str, ProbeClip]:
    return {
        "short": ProbeClip(SHORT, "siren", EDGE, EDGE + EVENT),
        "start": ProbeClip(length, "drums", EDGE, EDGE + EVENT),
        "nothing": ProbeClip(length),
        "end": ProbeClip(length, "siren", length - EVENT, length),
    }


def _ask(model: AudioLLM, clips: Mapping[str, ProbeClip]) -> dict[str, str]:
    """Return the text of each clip's answer; ProbeFailed if one has none."""
    names = {_key(model, name): name for name in clips}
    texts = {}
    with closing(model.ask_all(_request(model, name, clip) for name, clip in clips.items())) as results:
        for key, said in results:
            if isinstance(said, Failure):
                raise ProbeFailed(said.reason)
            texts[names[key]] = said.text
    return {name: texts[name] for name in clips}


def _request(model: AudioLLM, name: str, clip: ProbeClip) -> Request:
    return Request(_key(model, name), (user(Sound(clip.waveform()), QUESTION),))


def _key(model: AudioLLM, name: str) -> str:
    """The address is part of the key: another server of the same model is asked anew."""
    return f"probe of hearing {_server(model)} {name}"


def _long(model: AudioLLM) -> float:
    """The length of a long clip: whole seconds that the model is sent."""
    return float(min(LONG, model.seconds) // 1)


def _server(model: AudioLLM) -> str:
    endpoint = getattr(model, "endpoint", None)
    return "" if endpoint is None else str(endpoint.shown_url)


def _is_about(hearing: ProbedHearing, model: AudioLLM) -> bool:
    return (hearing.model, hearing.server, hearing.sent) == (model.name, _server(model), _long(model))


Samples = NDArray[np.float64]


def _piano(seconds: float) -> Samples:
    """A soft broken chord, two notes a second."""
    time = np.arange(2 * RATE) / RATE
    samples = np.zeros(round(seconds * RATE) + time.size)
    for number, interval in enumerate((0, 7, 12, 16)):  # semitones above middle C
        pitch = 261.63 * 2 ** (interval / 12)
        tone = sum(np.sin(2 * np.pi * k * pitch * time) / k**2 * np.exp(-(2 + k) * time) for k in (1, 2, 3, 4))
        for start in range(number * RATE // 2, samples.size - time.size, 2 * RATE):
            samples[start : start + time.size] += 0.06 * tone
    return samples[: -time.size]


def _siren(count: int) -> Samples:
    """A loud tone that sweeps between 600 and 1400 Hz every two seconds."""
    time = np.arange(count) / RATE
    phase = 2 * np.pi * np.cumsum(1000 - 400 * np.cos(np.pi * time)) / RATE
    return 0.35 * np.sin(phase) + 0.1 * np.sin(2 * phase) + 0.05 * np.sin(3 * phase)


def _drums(count: int) -> Samples:
    """Bass drum and snare in turn at 120 beats a minute, with a hi-hat on every half beat."""
    samples, noise = np.zeros(count), np.random.default_rng(0).standard_normal(RATE)
    for number, start in enumerate(range(0, count, RATE // 4)):
        time = np.arange(min(RATE // 4, count - start)) / RATE
        hit = 0.08 * np.diff(noise[: time.size], prepend=0) * np.exp(-60 * time)
        if number % 4 == 0:
            hit += 0.6 * np.sin(2 * np.pi * (55 * time - 4 * np.exp(-30 * time))) * np.exp(-14 * time)
        elif number % 4 == 2:
            hit += (0.2 * noise[: time.size] + 0.2 * np.sin(2 * np.pi * 190 * time)) * np.exp(-20 * time)
        samples[start : start + time.size] += hit
    return samples
