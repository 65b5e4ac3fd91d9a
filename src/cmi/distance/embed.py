"""Embed recordings: windows of 3 s by musicnn, or whole takes by a published audio-text model.

    musicnn    the layer before the tags of the network trained on the Million Song Dataset: 200 numbers for each 3 s;
               all recordings at one level; works offline
    clap, clap-music, muq-mulan, clamp3
               one embedding per take, that of the baseline of that name (docs/baselines.md)

musicnn gets the first 120 s of a recording. Embeddings are cached by the content of the file.
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
from cmi.reward.scoring.baselines.listening import AlignmentScorer, apply_in_batches, load_audio, repeat_to
from cmi.reward.scoring.scorers import load_scorer

MUSICNN = "musicnn"
MUSICNN_SECONDS = 120.0
MUSICNN_WINDOW = 3 * musicnn.RATE  # samples
HEARD_AS = "distance, 1"  # to be increased when embeddings change


class SoundEncoder(NamedTuple):
    name: str  # with its revision
    embed: Callable[[Path], torch.Tensor]  # (windows, D)


class EmbeddedSet(NamedTuple):
    takes: list[Array]  # each (windows, D)
    hashes: set[str]  # of the recordings' content
    left_out: list[tuple[str, str]]  # recordings that could not be read, and why


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
    samples = levelled(load_audio(path, musicnn.RATE, MUSICNN_SECONDS)[None])[0]
    whole = len(samples) // MUSICNN_WINDOW
    filled = samples[: whole * MUSICNN_WINDOW] if whole else repeat_to(samples, MUSICNN_WINDOW)
    device = next(net.buffers()).device
    windows = filled.view(-1, MUSICNN_WINDOW).to(device)
    return apply_in_batches(lambda part: net.penultimate(musicnn.mel(part)), windows).cpu()


def embed_recordings(
    paths: Sequence[Path], encoder: SoundEncoder, cache: TokenCache, on_done: Callable[[], None] = lambda: None
) -> EmbeddedSet:
    """Embed each distinct recording; return those that could not be read with the reason."""
    found = EmbeddedSet([], set(), [])

    def embed_one(path: Path) -> tuple[str, Array] | InputError:
        try:
            content = content_hash(path)
            return content, _cached(path, content, encoder, cache)
        except InputError as error:
            return error

    cores = usable_cores()
    with single_threads(cores, "cmi-embed") as pool:
        embedded = map_ahead(lambda path: pool.submit(embed_one, path), paths, cores)
        for path, one in zip(paths, embedded, strict=True):
            if isinstance(one, InputError):
                found.left_out.append((str(path), str(one)))
            elif one[0] not in found.hashes:
                found.hashes.add(one[0])
                found.takes.append(one[1])
            on_done()
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
