from stand_in import record

from .peft_model import PeftModelForCausalLM


def get_peft_model(model, peft_config):
    record("get_peft_model", **vars(peft_config))
    return PeftModelForCausalLM(model)
