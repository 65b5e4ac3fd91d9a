"""Labels of pictures can be read: none covers another."""

from itertools import combinations

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'cmi[plots]'")

from cmi.report.pictures import new_figure, new_panels, spread_labels


def test_labels_of_points_in_one_place_do_not_cover_each_other():
    figure = new_figure(4, 3)
    (panel,) = new_panels(figure)
    places = [(0, 0), (0, 0), (0.001, 0), (1, 1), (1, 0.99)]
    panel.scatter(*zip(*places, strict=True))
    labels = [
        panel.annotate(f"a model {i}", place, xytext=(4, 4), textcoords="offset points")
        for i, place in enumerate(places)
    ]
    spread_labels(figure, labels)
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in labels]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert labels[3].xyann == (4, 4) or labels[4].xyann == (4, 4)  # what covers nothing stays
