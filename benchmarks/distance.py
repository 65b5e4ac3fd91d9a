"""How often the interval of `cmi distance` holds the true distance, and how far off the plain value is.

    python benchmarks/distance.py

Sets of takes are drawn from two Gaussians whose Fréchet distance is known; a take has five windows that resemble each
other. KAD's truth is measured on many takes of one window each: it is unbiased where windows are independent.
"""

import numpy as np

from cmi.distance.measure import Extrapolation, extrapolate
from cmi.distance.metrics import METRICS, kernel_distance

DRAWS = 200
DIMENSIONS, WINDOWS, SHIFT, WIDER = 20, 5, 0.2, 1.2
SIZES = (30, 100, 300)  # takes of each set
MANY = 4000  # takes behind KAD's truth


def main() -> None:
    truths = {"fad": DIMENSIONS * (SHIFT**2 + (WIDER - 1) ** 2), "kad": many_takes()}
    print(f"{DRAWS} draws: means over draws, and how often the interval of the limit holds the truth")
    for takes in SIZES:
        for metric, truth in truths.items():
            found = [measure(metric, takes, np.random.default_rng(seed)) for seed in range(DRAWS)]
            value, limit = (np.mean([getattr(own, name) for own in found]) for name in ("value", "limit"))
            held = np.mean([own.interval.low <= truth <= own.interval.high for own in found])
            print(
                f"{metric}  {takes:3d} takes  truth {truth:.2f}  value {value:.2f}  limit {limit:.2f}  held {held:.1%}"
            )


def many_takes() -> float:
    rng = np.random.default_rng(0)
    own, other = (np.concatenate(draw_takes(MANY, *how, rng, windows=1)) for how in ((SHIFT, WIDER), (0.0, 1.0)))
    return kernel_distance(own, other)


def measure(metric: str, takes: int, rng: np.random.Generator) -> Extrapolation:
    both = [*draw_takes(takes, SHIFT, WIDER, rng), *draw_takes(takes, 0.0, 1.0, rng)]
    distance = METRICS[metric](both, takes)
    return extrapolate(distance, np.arange(takes), np.arange(takes, 2 * takes), rng)


def draw_takes(
    takes: int, shift: float, spread: float, rng: np.random.Generator, windows: int = WINDOWS
) -> list[np.ndarray]:
    """Half of a window's variance is its take's."""
    centres = rng.normal(size=(takes, 1, DIMENSIONS)) * np.sqrt(0.5)
    return list(shift + spread * (centres + rng.normal(size=(takes, windows, DIMENSIONS)) * np.sqrt(0.5)))


if __name__ == "__main__":
    main()
