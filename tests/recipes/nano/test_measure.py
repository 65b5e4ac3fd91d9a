"""What `measure.py` says of scores, and that it hears the songs of tested packages in turns."""

from pathlib import Path

import measure
import numpy as np

from cmi.studio.tracks import Track


def test_the_packages_that_were_not_trained_on_take_turns():
    tracks = [
        Track(f"{i}{package}", Path(package, f"{i}.ogg"), 60) for package in ("naev-data", "one") for i in range(3)
    ]
    tracks += [Track("9", Path("singularity-music", "a.ogg"), 60), Track("8", Path("singularity-music", "b.ogg"), 20)]
    chosen = [str(track.path) for track in measure.choose_tracks(tracks, 3)]
    assert chosen == ["naev-data/0.ogg", "singularity-music/a.ogg", "naev-data/1.ogg"]


def test_every_flaw_and_codec_is_a_version_of_the_clip():
    sound = np.random.default_rng(0).normal(0, 0.1, 4 * 32_000).astype(np.float32)
    made = list(measure.versions(sound, 32_000))
    assert len(made) == 1 + len(measure.FLAWS) * len(measure.STRENGTHS) + len(measure.CODECS)
    assert all(version.dtype == np.float32 and version.ndim == 1 and np.isfinite(version).all() for version in made)


def test_the_report_counts_right_answers_by_strength_and_measures_codecs_in_spreads(capsys):
    clean = np.linspace(0, 9, 12)  # a spread of 2.82
    falls = np.tile([-0.5, 1.0, 20.0], len(measure.FLAWS))  # wrong, right on the same clip, right on any two
    measure.report(np.column_stack([clean, clean[:, None] - falls, clean + 0.282, clean - 1.41]))
    said = capsys.readouterr().out
    same, across = (
        next(line for line in said.splitlines() if line.startswith(title)) for title in ("the same", "any two")
    )
    assert [cell.split()[0] for cell in same[24:].split(")")[:-1]] == ["0.0", "100.0", "100.0"]
    assert across.split()[-4] == "100.0"
    assert "mp3 moves a song by 0.10 spreads in the mean, 0.10 at most" in said
    assert "ogg moves a song by 0.50" in said
