"""The process that decodes uploads: nothing from the current folder is run, and nothing is loaded that it needs not."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from cmi.arena.web.uploads import decoder_environment

HOSTILE = "from pathlib import Path\nPath({marker!r}).touch()\nraise SystemExit\n"


def sound(seconds: float = 0.5) -> bytes:
    written = io.BytesIO()
    soundfile.write(written, 0.3 * np.sin(np.arange(int(8000 * seconds)) / 4), 8000, format="WAV")
    return written.getvalue()


@pytest.mark.parametrize("python_path", ["", ":", ":/nowhere:"])
def test_modules_in_the_current_folder_are_not_run(owner, tmp_path: Path, monkeypatch, python_path: str):
    folder, marker = tmp_path / "current", tmp_path / "was run"
    folder.mkdir()
    for name in ("soundfile", "numpy", "json", "resource", "cmi"):
        (folder / f"{name}.py").write_text(HOSTILE.format(marker=str(marker)))
    monkeypatch.chdir(folder)
    source = Path(sys.modules["cmi"].__file__).parent.parent  # where ours comes from, however it was installed
    monkeypatch.setenv("PYTHONPATH", f"{source}{python_path}")
    answer = owner.post("/api/owner/sounds", files={"file": ("take.wav", sound())})
    assert not marker.exists()
    assert answer.status_code == 201, answer.text


def test_the_decoder_loads_neither_the_database_nor_the_web_nor_scipy(tmp_path: Path):
    (tmp_path / "upload").write_bytes(sound())
    code = (
        "import sys; from cmi.arena.audio import decode; decode.main(*sys.argv[1:])\n"
        "print(); print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    command = [sys.executable, "-P", "-c", code, str(tmp_path / "upload"), str(tmp_path / "result"), "600"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=decoder_environment()).stdout
    answer, loaded = said.splitlines()
    assert json.loads(answer)["measured"]["seconds"] == 0.5
    heavy = {"sqlalchemy", "alembic", "scipy", "torch", "fastapi", "starlette", "pydantic", "pandas", "transformers"}
    assert heavy & set(loaded.split()) == set()


@pytest.mark.parametrize(
    ("result", "most_bytes", "answer"),
    [
        ("/dev/full", 10**9, {"disk_full": True}),
        ("result", 4096, {"refused": "the decoded sound is larger than an upload may be"}),
    ],
)
def test_a_result_that_cannot_be_written_is_not_called_bad_audio(tmp_path: Path, result, most_bytes, answer):
    noise = np.random.default_rng(0).normal(0, 0.1, 80_000)
    soundfile.write(tmp_path / "upload", noise, 8000, format="WAV")
    code = (
        f"import sys; from cmi.arena.audio import decode; decode.FILE_BYTES = {most_bytes}\ndecode.main(*sys.argv[1:])"
    )
    command = [sys.executable, "-P", "-c", code, str(tmp_path / "upload"), str(tmp_path / result), "600"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=decoder_environment())
    assert json.loads(done.stdout) == answer
