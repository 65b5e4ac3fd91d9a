import soundfile
from stand_in import record


def prepare_tokenizer(model_config):
    return f"tokenizer of {model_config['tokenizer_path']}"


def prepare_model(model_config, clap_config, checkpoint_path, device_id=0):
    record("prepare_model", checkpoint_path=checkpoint_path, **model_config)
    return "model"


def inference(model, tokenizer, item, processed_item, inference_kwargs, device_id=0):
    record("inference", tokenizer=tokenizer, rate=soundfile.info(processed_item[0]).samplerate, **inference_kwargs)
    return ["blues"]
