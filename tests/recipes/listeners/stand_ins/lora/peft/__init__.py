# ruff: noqa: F401
from .mapping import get_peft_model
from .tuners.lora import LoraConfig
