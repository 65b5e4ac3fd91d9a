"""Recordings as embeddings: of windows of 3 s by musicnn, or of whole takes by a published model of sound and text.

    musicnn    the layer before the tags of the network trained on the Million Song Dataset: 200 numbers for each 3 s;
               all recordings at one level; offline
    clap, clap-music, muq-mulan, clamp3
               one embedding a take, as the baseline of that name hears it (docs/baselines.md)

The first 120 s of a recording are heard by musicnn. What was heard is cached by the content of the file.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from cmi._util.cores import map_ahead, single_threads, usable_cores
from cmi._util.device import choose_device
from cmi._util.errors import InputError
from cmi.audio import content_hash
from cmi.distance.metrics import Array
from cmi.reward.engine.token_cache import CachedTokens, TokenCache
from cmi.reward.model.encoders import musicnn
from cmi.reward.model.encoders.nano import levelled
from cmi.reward.scoring.baselines import ALIGNMENT, find_baseline
from cmi.reward.scoring.baselines.listening import AlignmentScorer, hear, in_calls, repeated
from cmi.reward.scoring.scorers import load_scorer

MUSICNN = "musicnn"
MUSICNN_SECONDS = 120.0
MUSICNN_WINDOW = 3 * musicnn.RATE  # samples
HEARD_AS = "distance, 1"  # changes with what the encoders give


class SoundEncoder(NamedTuple):
    name: str  # with its revision
    embed: Callable[[Path], torch.Tensor]  # (windows, D)


class EmbeddedSet(NamedTuple):
    takes: list[Array]  # each (windows, D)
    hashes: set[str]  # of the recordings' content
    left_out: list[tuple[str, str]]  # recordings that could not be heard, and why


def load_encoder(name: str, device: str = "auto") -> SoundEncoder:
    """Load `musicnn`, or a baseline that compares sound with text."""
    if name == MUSICNN:
        net = musicnn.load_musicnn("MSD_musicnn").to(choose_device(device))
        return SoundEncoder(f"{MUSICNN}@{musicnn.WHEEL.sha256[:12]}", lambda path: _embed_windows(net, path))
    found = find_baseline(name.partition("=")[0])
    scorer = load_scorer(name, device=device) if found is not None and found.variant.axes == ALIGNMENT else None
    if scorer is None or not isinstance(scorer.scorer, AlignmentScorer):
        raise InputError(f"{name} is not an encoder: expected {MUSICNN}, clap, clap-music, muq-mulan or clamp3")
    embed = scorer.scorer.embed_sound
    return SoundEncoder(scorer.name, torch.inference_mode()(lambda path: embed(path)[None]))


@torch.inference_mode()
def _embed_windows(net: musicnn.Musicnn, path: Path) -> torch.Tensor:
    """(windows, 200): whole windows of 3 s; a shorter recording is repeated to fill one."""
    samples = levelled(hear(path, musicnn.RATE, MUSICNN_SECONDS)[None])[0]
    whole = len(samples) // MUSICNN_WINDOW
    filled = samples[: whole * MUSICNN_WINDOW] if whole else repeated(samples, MUSICNN_WINDOW)
    device = next(net.buffers()).device
    return in_calls(lambda part: net.penultimate(musicnn.mel(part)), filled.view(-1, MUSICNN_WINDOW).to(device)).cpu()


def embed_recordings(
    paths: Sequence[Path], encoder: SoundEncoder, cache: TokenCache, on_heard: Callable[[], None] = lambda: None
) -> EmbeddedSet:
    """Embed each recording, or say why it could not be heard. A recording that comes again counts once."""
    found = EmbeddedSet([], set(), [])

    def hear_one(path: Path) -> tuple[str, Array] | InputError:
        try:
            content = content_hash(path)
            return content, _cached(path, content, encoder, cache)
        except InputError as error:
            return error

    cores = usable_cores()
    with single_threads(cores, "cmi-embed") as pool:
        heard = map_ahead(lambda path: pool.submit(hear_one, path), paths, cores)
        for path, one in zip(paths, heard, strict=True):
            if isinstance(one, InputError):
                found.left_out.append((str(path), str(one)))
            elif one[0] not in found.hashes:
                found.hashes.add(one[0])
                found.takes.append(one[1])
            on_heard()
    return found


def _cached(path: Path, content: str, encoder: SoundEncoder, cache: TokenCache) -> Array:
    key = hashlib.sha256(f"{HEARD_AS}\n{encoder.name}\n{content}".encode()).hexdigest()
    known = cache.get(key)
    if known is None:
        embedding = encoder.embed(path).float()
        if not embedding.isfinite().all():
            raise InputError(f"{path}: {encoder.name} gives numbers that are not finite")
        known = CachedTokens(embedding.contiguous(), 0, silent=False)
        cache.put(key, known)
    return known.tokens.double().numpy()
