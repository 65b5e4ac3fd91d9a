from dataclasses import dataclass, field


@dataclass
class PeftConfig:
    base_model_name_or_path: str = field(default=None)
    peft_type: str = field(default=None)
    task_type: str = field(default=None)
    inference_mode: bool = field(default=False)
