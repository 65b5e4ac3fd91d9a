import soundfile


def prepare_one_sample(wav_path, wav_processor, cuda_enabled=True):
    samples, rate = soundfile.read(wav_path)
    return {"processor": wav_processor, "rate": rate, "length": len(samples)}
