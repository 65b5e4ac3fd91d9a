"""The writers' queue: one at a time, in the order of asking, and handed on when a block raises."""

import threading
import time

import pytest

from cmi.arena.store.database import QueueLock


def test_threads_are_served_in_the_order_of_asking_one_at_a_time():
    lock, served, inside = QueueLock(), [], []

    def work(number: int) -> None:
        with lock:
            inside.append(number)
            assert len(inside) == 1
            served.append(number)
            inside.remove(number)

    threads = []
    with lock:
        for number in range(20):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            while len(lock._waiting) <= number:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert served == list(range(20))


def test_a_block_that_raises_hands_the_lock_on():
    lock = QueueLock()
    with pytest.raises(KeyError), lock:
        raise KeyError
    with lock:
        pass
