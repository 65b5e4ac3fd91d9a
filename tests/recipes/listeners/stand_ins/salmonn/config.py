from pathlib import Path
from types import SimpleNamespace

import yaml


class Config:
    def __init__(self, args):
        assert args.options is None
        parts = yaml.safe_load(Path(args.cfg_path).read_text())
        self.config = SimpleNamespace(**{name: SimpleNamespace(**part) for name, part in parts.items()})
