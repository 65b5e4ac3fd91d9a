"""Classification: one class of the data set (see `_labels`), or any number of them (see `_tags`)."""

from collections.abc import Iterable

from cmi.bench.catalog import DATASETS
from cmi.bench.evaluation import Evaluation, Item, Setting
from cmi.bench.tasks import Reader, _labels, _tags


def evaluate(items: Iterable[Item], setting: Setting) -> Evaluation:
    dataset = DATASETS[setting.dataset]
    return (_tags if dataset.is_multi_label else _labels).evaluate(items, setting, dataset.classes)


def reader(setting: Setting, truths: Iterable[str]) -> Reader:
    dataset = DATASETS[setting.dataset]
    if dataset.is_multi_label:
        return _tags.reader(setting, dataset.classes)
    return _labels.reader(setting, truths, dataset.classes)
