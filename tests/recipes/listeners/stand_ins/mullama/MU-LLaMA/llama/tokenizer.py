class Tokenizer:
    def encode(self, s, bos, eos):
        assert bos and not eos
        return [ord(letter) for letter in s]
