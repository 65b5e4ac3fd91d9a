# ruff: noqa: F401
from .musicgen import MusicGen
