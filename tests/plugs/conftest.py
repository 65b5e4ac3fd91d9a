"""A data set with its clips, and answers to it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

import cmi.bench

SAMPLES = Path(cmi.bench.__file__).parent / "samples"


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Path:
    """A folder with annotations/, answers/ and the recordings of GS_key; every fourth question has no answer."""
    folder = tmp_path_factory.mktemp("bench")
    for name in ("annotations", "answers"):
        (folder / name).mkdir()
    annotations = folder / "annotations" / "CMI_GS_key.jsonl"
    shutil.copy(SAMPLES / "annotations" / annotations.name, annotations)
    given = (SAMPLES / "responses" / "listener_GS_key.jsonl").read_text().splitlines(keepends=True)
    (folder / "answers" / "listener_GS_key.jsonl").write_text("".join(x for i, x in enumerate(given) if i % 4))
    for i, line in enumerate(annotations.read_text().splitlines()):
        path = folder / json.loads(line)["audio_path"][0]
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, 0.1 * np.sin(np.arange(8000) * 0.02 * (i + 1)), 8000)
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """Clips and what the libraries keep go to the test's own folder."""
    for name in ("CMI_CACHE", "HF_HOME", "HF_DATASETS_CACHE", "INSPECT_LOG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    return tmp_path / "cmi_cache"
