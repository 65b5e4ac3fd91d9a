"""As much of OmegaConf as a worker uses: attributes for the keys of YAML, and nothing resolved."""

from pathlib import Path

import yaml


class Config(dict):
    def __getattr__(self, key):
        value = self[key]
        return Config(value) if isinstance(value, dict) else value

    def __setattr__(self, key, value):
        self[key] = value


class OmegaConf:
    @staticmethod
    def load(path):
        return Config(yaml.safe_load(Path(path).read_text()))

    @staticmethod
    def merge(*configs):
        return Config({key: value for config in configs for key, value in config.items()})

    @staticmethod
    def resolve(config):
        pass
