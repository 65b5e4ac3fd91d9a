from dataclasses import dataclass, field

from ..utils.config import PeftConfig


@dataclass
class LoraConfig(PeftConfig):
    r: int = field(default=8)
    target_modules: list = field(default=None)
    lora_alpha: int = field(default=None)
    lora_dropout: float = field(default=None)
    fan_in_fan_out: bool = field(default=False)
    bias: str = field(default="none")
    modules_to_save: list = field(default=None)
    init_lora_weights: bool = field(default=True)
