"""How many cores a process takes itself to have, and pools in which torch computes on one core each."""

import os
import threading
from concurrent.futures import Future

import pytest
import torch

from cmi._util import cores
from cmi._util.cores import map_ahead, single_threads, usable_cores


@pytest.fixture
def container(tmp_path, monkeypatch):
    """A process in the control group /a/b, with eight cores by its affinity."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(cores, "_CGROUPS", tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "cgroup").write_text("12:cpu:/other\n0::/a/b\n")
    monkeypatch.setattr(cores, "_OWN_CGROUPS", tmp_path / "cgroup")
    return tmp_path


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 8),
        ({"cpu.max": "max 100000"}, 8),
        ({"cpu.max": "200000 100000"}, 2),
        ({"a/b/cpu.max": "150000 100000"}, 2),  # rounded up
        ({"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3),
        ({"a/b/cpu.max": "5000 100000"}, 1),
        ({"a/b/cpu.max": "9000000 100000"}, 8),
        ({"a/b/cpu.max": ""}, 8),
        ({"a/b/cpu.max": "1 0"}, 8),
        ({"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"}, 4),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 8),
    ],
)
def test_a_containers_quota_limits_the_cores(container, files, expected):
    for name, content in files.items():
        (container / name).parent.mkdir(exist_ok=True)
        (container / name).write_text(content)
    assert usable_cores() == expected


@pytest.mark.parametrize(("chosen", "expected"), [("3", 3), ("3,1", 3), ("", 8), ("0", 8), ("many", 8), ("-2", 8)])
def test_what_the_user_chose_comes_first(container, monkeypatch, chosen, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", chosen)
    assert usable_cores() == expected


def test_no_control_groups_mean_no_quota(container, monkeypatch):
    monkeypatch.setattr(cores, "_OWN_CGROUPS", container / "missing")
    assert usable_cores() == 8


def test_torch_computes_on_one_core_in_the_pool_and_as_before_elsewhere():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with single_threads(4, "test") as pool:
            barrier = threading.Barrier(4)
            asked = [pool.submit(lambda: (barrier.wait(), torch.get_num_threads())[1]) for _ in range(4)]
            assert [one.result() for one in asked] == [1] * 4
            later: list[int] = []
            thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
            thread.start()
            thread.join()
        assert later == [3]
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_results_come_in_order_and_no_more_than_asked_for_are_begun():
    begun = []

    def submit(item: int) -> "Future[int]":
        begun.append(item)
        done: Future[int] = Future()
        done.set_result(item * item)
        return done

    results = map_ahead(submit, iter(range(100)), 3)
    assert [next(results) for _ in range(5)] == [0, 1, 4, 9, 16]
    assert len(begun) <= 9
    assert list(results) == [i * i for i in range(5, 100)]
