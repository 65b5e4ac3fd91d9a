"""The distances equal public implementations on the same embeddings.

CMI_PEERS names a folder with their wheels, as published:

    pip download --no-deps --dest peers frechet_audio_distance==0.3.4 kadtk==1.1.0 mauve-text==0.4.0

Their functions are taken out of the wheels: what the packages need besides is gigabytes, and has no part in this.
"""

import ast
import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import linalg
from sklearn.metrics import auc

from cmi.distance.metrics import frechet_distance, kernel_distance, mauve

PEERS = os.environ.get("CMI_PEERS")
WHEELS = {
    "frechet_audio_distance-0.3.4-py3-none-any.whl": "06c60fd1fee7ff086617864c8d709836c30f87e3686b9c87864ff3217fb7ff9f",
    "kadtk-1.1.0-py3-none-any.whl": "e2faa02cceaf777a53bceb80b0cc3ca0154e13d204f8e73b416b3b077610e3f8",
    "mauve_text-0.4.0-py3-none-any.whl": "ceafe978fd66adf4a2a8bad8c47be417e7306f43a4a4ab9121de01f81fc7e47b",
}
pytestmark = pytest.mark.skipif(PEERS is None, reason="CMI_PEERS names no folder with the wheels of public metrics")


def take_functions(wheel: str, file: str, names: set[str], known: dict[str, Any]) -> dict[str, Any]:
    path = Path(PEERS or "") / wheel
    assert hashlib.sha256(path.read_bytes()).hexdigest() == WHEELS[wheel]
    with zipfile.ZipFile(path) as archive:
        tree = ast.parse(archive.read(file))
    wanted = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in names]
    assert {node.name for node in wanted} == names
    exec(compile(ast.Module(wanted, []), file, "exec"), known)
    return known


class OlderLinalg:
    """scipy.linalg with the sqrtm that the package was written for: scipy dropped `disp`."""

    @staticmethod
    def sqrtm(matrix: np.ndarray, disp: bool = True) -> Any:
        return linalg.sqrtm(matrix) if disp else (linalg.sqrtm(matrix), 0.0)


@pytest.fixture(scope="module")
def sets() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(400, 40)) @ rng.normal(size=(40, 40)), rng.normal(size=(300, 40)) * 3 + 0.3


def test_fad(sets: tuple[np.ndarray, np.ndarray]):
    name = "calculate_frechet_distance"
    file = "frechet_audio_distance/fad.py"
    peer = take_functions(
        "frechet_audio_distance-0.3.4-py3-none-any.whl", file, {name}, {"np": np, "linalg": OlderLinalg}
    )
    gaussians = [part for own in sets for part in (own.mean(axis=0), np.cov(own, rowvar=False))]
    assert frechet_distance(*sets) == pytest.approx(peer[name](None, *gaussians), rel=1e-6)


def test_kad(sets: tuple[np.ndarray, np.ndarray]):
    names = {"calc_kernel_audio_distance", "median_pairwise_distance"}
    known = {"np": np, "torch": torch, "Path": Path, "SCALE_FACTOR": 100}
    peer = take_functions("kadtk-1.1.0-py3-none-any.whl", "kadtk/kad.py", names, known)
    own, other = map(torch.from_numpy, sets)
    expected = peer["calc_kernel_audio_distance"](own, other, (None, None), "cpu", precision=torch.float64)
    assert kernel_distance(*sets) == pytest.approx(float(expected), abs=1e-6)


def test_mauve():
    names = {"get_divergence_curve_for_multinomials", "kl_multinomial"}
    peer = take_functions("mauve_text-0.4.0-py3-none-any.whl", "mauve/compute_mauve.py", names, {"np": np})
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, q = rng.integers(0, 20, (2, 50)).astype(float)
        weights = np.linspace(1e-6, 1 - 1e-6, 25)
        x, y = peer["get_divergence_curve_for_multinomials"](p / p.sum(), q / q.sum(), weights, 5).T
        by_x, by_y = np.argsort(x), np.argsort(y)
        expected = (auc(x[by_x], y[by_x]) + auc(y[by_y], x[by_y])) / 2
        assert mauve(p, q) == pytest.approx(expected, abs=1e-6)
