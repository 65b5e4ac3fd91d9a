# ruff: noqa: F401
from .llama_adapter import load
from .utils import format_prompt
