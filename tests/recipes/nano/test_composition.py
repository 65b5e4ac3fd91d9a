"""The recipe of nano's `Composition` on made-up pieces and tones: notes stay playable, a network is trained."""

import sys

import events
import numpy as np
import pytest
import ship_composition
import torch
import train_composition as recipe
from corruptions import SEEN, UNSEEN
from heard import measure, scores
from perform import make_group
from pieces import Written, read_pieces, write_pieces
from safetensors.torch import load_file, save_file
from song_versions import KINDS, Songs, measure_songs, versions
from tones import DRUMS, HIGHEST, LONG, LOWEST, RATE, Bank


@pytest.fixture(scope="module")
def pieces():
    rng = np.random.default_rng(0)
    found = []
    for i in range(4):
        starts = np.unique(rng.integers(0, 160, 120)) / 2
        tune = [(t, 0.5, 60 + int(rng.choice((0, 2, 4, 5, 7, 9, 11))), 80, 0) for t in starts.tolist()]
        chords = [(t, 4, 48 + p, 80, 1) for t in range(0, 80, 4) for p in (0, 4, 7)]
        beaten = [(t, 0.25, 36 + 2 * (t % 2), 90, 2) for t in range(80)] if i % 2 else []
        notes = np.array(sorted(tune + chords + beaten), np.float32)
        programs = (0, 24, -1) if beaten else (0, 24)
        found.append(Written("made", str(i), notes, np.arange(81, dtype=np.float32) / 2, 4, programs))
    return found


@pytest.fixture(scope="module")
def bank():
    times = torch.arange(LONG) / RATE
    pitches = torch.arange(LOWEST, HIGHEST + 1)
    tones = 0.1 * torch.sin(2 * torch.pi * 440 * 2 ** ((pitches[:, None] - 69) / 12) * times)
    noise = torch.randn(len(DRUMS), LONG, generator=torch.Generator().manual_seed(0)) * torch.exp(-30 * times)
    voices = [{"font": "made", "program": 0, "first": 0}, {"font": "made", "program": -1, "first": len(tones)}]
    return Bank(torch.cat([tones, 0.1 * noise]).half(), voices)


def test_pieces_are_read_as_they_were_written(pieces, tmp_path):
    write_pieces(tmp_path / "pieces.npz", pieces)
    for before, after in zip(pieces, read_pieces(tmp_path / "pieces.npz"), strict=True):
        assert (before.source, before.name, before.metre, before.programs) == after[:2] + after[4:]
        assert np.allclose(before.notes, after.notes, atol=1e-2)


def test_every_corruption_changes_notes_and_leaves_them_playable(pieces, bank):
    _, _, versions = make_group(pieces, 1, bank, 3, {**SEEN, **UNSEEN}, (0.3, 1.0))
    clean, unchanged = versions[0].rows, set()
    for version in versions[2:]:
        assert len(version.rows) > len(clean) / 4
        assert np.isfinite(version.rows).all()
        assert version.rows[:, 0].min() >= 0 and version.rows[:, 0].max() < len(bank.sounds)
        if version.rows.shape == clean.shape and np.array_equal(version.rows, clean):
            unchanged.add(version.kind)
    assert unchanged <= {"rhythm-permuted", "chained"}  # where one chord comes again and again


def test_notes_survive_the_language_of_events(pieces):
    piece = pieces[1]
    slot = events.slots(piece.notes, (False, False, True))
    signs = events.written(piece.notes, piece.metre, 80, slot)
    back = events.read(signs.tolist(), piece.metre, {s: p for p, s in slot.items()})
    assert sorted(map(tuple, back[:, [0, 2, 4]])) == sorted(map(tuple, piece.notes[:, [0, 2, 4]]))


def songs_of(heard):
    """The second excerpt is the first with a flaw."""
    return Songs(heard, torch.tensor([1, 1, 2]), torch.tensor([False, True, False]))


def test_a_variant_is_trained_measured_and_put_into_a_checkpoint(pieces, bank, tmp_path, monkeypatch):
    groups = [make_group(pieces, i, bank, i, SEEN, (), 2) for i in range(2)]
    heard = recipe.listen(iter(groups), bank, [], 0.0)
    assert heard.pitches.shape == (8, 600, 84)
    songs = songs_of(torch.rand(3, 600, 132).half())
    settings = recipe.Settings(steps=2, groups=3, songs=1, frames=(40,), even=0.1)
    network = recipe.fit(heard, songs, settings, torch.device("cpu"))
    assert set(measure(scores(network, heard), heard)["all"]) >= {"seen", "harmless"}
    assert set(measure_songs(network.judge, songs, 40)["cells"]) == set(KINDS)

    torch.save({"all": network.state_dict()}, tmp_path / "variants.pt")
    save_file({"other": torch.ones(1)}, tmp_path / "model.safetensors")
    monkeypatch.setattr(
        sys, "argv", ["ship_composition.py", str(tmp_path / "variants.pt"), "all", *[str(tmp_path)] * 2]
    )
    ship_composition.main()
    shipped = load_file(tmp_path / "model.safetensors")
    assert "other" in shipped
    network.load_state_dict({name.removeprefix("composition."): x for name, x in shipped.items() if name != "other"})


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_a_version_of_a_song_changes_what_its_kind_says(kind):
    torch.manual_seed(0)
    heard = torch.rand(2, 600, 132)
    own, other = torch.tensor([0] * 8), torch.tensor([1] * 8)
    made = versions(heard, own, other, torch.full((8,), -1 if kind is None else KINDS.index(kind)), 400)
    assert made.shape == (8, 400, 132)
    rises = made[:, :, 84:]
    known = {tuple(row) for row in heard[0, :, 84:].tolist()}
    strange = torch.tensor([[tuple(moment) not in known for moment in clip] for clip in rises.tolist()])
    assert strange.any(dim=1).all() == (kind in ("both", "continued"))  # only these bring in another song
    steps = torch.cdist(rises[0], heard[0, :, 84:]).argmin(dim=1).diff()
    in_order = bool((steps >= 0).all())
    assert in_order == (kind not in ("moved", "looped", "uneven", "both", "continued"))
    silent = (made[:, :, :84] == 0).float().mean()
    assert silent < 0.1  # transposed past the edge
