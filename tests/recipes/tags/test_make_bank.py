"""The bank of `tags`: which tracks are taken, and what is kept of them."""

import make_bank
import numpy as np
import soundfile

from cmi.studio.tracks import Track


def test_no_package_outweighs_the_others(tmp_path):
    tracks = [Track(f"{i:02d}", tmp_path / "large" / f"{i}.flac", 30.0) for i in range(20)]
    tracks += [Track("99", tmp_path / "small" / "only.flac", 30.0)]
    chosen = make_bank.choose(tracks, tmp_path)
    assert len(chosen) == make_bank.EACH + 1
    assert [track.name for track in chosen[:2]] == ["00", "01"]


def test_a_bank_is_one_row_of_tags_for_each_track(tmp_path, wheel):
    rng = np.random.default_rng(0)
    (tmp_path / "music" / "package").mkdir(parents=True)
    for i in range(2):
        soundfile.write(tmp_path / "music" / "package" / f"{i}.flac", rng.normal(0, 0.1, 8000 * 20), 8000)
    assert make_bank.make_bank(tmp_path / "music", tmp_path / "out") == 2
    bank = np.load(tmp_path / "out" / "bank.npy")
    assert bank.shape == (2, 100)
    assert np.isfinite(bank).all()
    assert set((tmp_path / "out" / "bank.txt").read_text().split()) == {"package/0.flac", "package/1.flac"}
