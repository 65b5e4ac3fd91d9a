"""nano's head: CMI-RM's small head, and beside it what needs no training.

    alignment = 0.2 x
                  the head's own, in deviations from its mean over a bank of clips, under this very prompt
                + 6 x the mean of   text:      musicnn's tags . what the text asks of them: by their names
                                               (`cmi.reward.scoring.tags`), by 269 words and phrases of which we
                                               wrote down what tags they go with (`recipes/nano/words.txt`), by what
                                               each of its words is like, and by the tags that it names itself
                                    reference: cosines of musicnn's mean features, and of melodies
                                               (`cmi.reward.model.encoders.melody`), of the take and of the reference
                  each in deviations from its mean over a bank, too
    musicality = how well it is recorded (`cmi.reward.model.encoders.craft`), less what it is composed worse than usual
                 (`cmi.reward.model.encoders.composition`); both are told from the sound alone

A trained head has a bias for each text, which a bank takes away: one pass over it for each distinct prompt, kept with
the prompt. The bank's clips and tracks are free music, named in `recipes/nano`.

Beside a sound's tokens stand EXTRA + 1 numbers, the same in all of a chunk: the log-odds of musicnn's tags, the mean of
its features, its melody and its musicality; beside a text's, the ids of its word pieces. A fused prompt's tokens have
EXTRA, what it asks of each, and three more: what is added, and the mean and deviation of the head's own score.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from cmi.reward.model.encoders.melody import MELODY
from cmi.reward.model.head import HeadConfig, Mask, PromptTokens, RewardHead

TAGGED, FEATURES = 100, 224
EXTRA = TAGGED + FEATURES + MELODY
CLIPS, CLIP_TOKENS, MORE_CLIPS, TRACKS = 51, 12, 102, 194  # of the bank
WORDS = 269
SPELT, LONGEST, ANY = 157, 3, -1.0  # ways to spell tags, word pieces of the longest, and what fills up the others
NEAR = 0.05  # of cosines: how fast a word counts less, the less it is like the text
POWER = 3  # of cosines, as in `cmi.reward.scoring.tags`
WEIGHT = 6.0  # of what is untrained: the most that costs nothing on the studio's own music (`recipes/nano/takes.py`)
SCALE = 0.2  # so that differences are log-odds (`docs/explanation/nano-2-log.md`)
EMPTY = 2  # tokens of a text without words
LEAST = -6.9  # between the worst of 36 songs and the best of 140 sounds that are no music, by craft; 1 for composition


class BlendedHead(RewardHead):
    """Tokens with extra numbers in, [alignment, musicality] out."""

    least_musicality = LEAST
    bank_tokens: Tensor
    bank_features: Tensor
    bank_melodies: Tensor
    bank_tags: Tensor
    bank_names: Tensor
    bank_words: Tensor
    bank_meant: Tensor
    bank_pieces: Tensor
    bank_spelt: Tensor

    def __init__(self, config: HeadConfig) -> None:
        super().__init__(config)
        self.register_buffer("bank_tokens", torch.zeros(CLIPS, CLIP_TOKENS, config.dim))
        self.register_buffer("bank_features", torch.zeros(MORE_CLIPS, FEATURES))
        self.register_buffer("bank_melodies", torch.zeros(MORE_CLIPS, MELODY))
        self.register_buffer("bank_tags", torch.zeros(TRACKS, TAGGED))
        self.register_buffer("bank_names", torch.zeros(TAGGED, config.dim))  # MiniLM's vectors of the tags' names
        self.register_buffer("bank_words", torch.zeros(WORDS, config.dim))  # and of words
        self.register_buffer("bank_meant", torch.zeros(WORDS, TAGGED))  # the tags that these go with
        self.register_buffer("bank_pieces", torch.zeros(SPELT, LONGEST))  # how tags may be spelt
        self.register_buffer("bank_spelt", torch.zeros(SPELT, TAGGED))  # and which these are

    def parts(self, prompt: PromptTokens) -> list[tuple[nn.Module, Tensor]]:
        text, lyrics, reference = (None if x is None else x[..., : self.config.dim] for x in prompt)
        assert text is not None and lyrics is not None
        return super().parts(PromptTokens(text, lyrics, reference))

    def join(self, prompt: PromptTokens) -> Tensor:
        """(B, P, D + EXTRA + 1)."""
        joined = super().join(prompt)
        asked = joined.new_zeros(len(joined), EXTRA + 1)
        told = int(prompt.text.shape[1] > EMPTY) + int(prompt.reference is not None)  # parts that ask for something
        if prompt.text.shape[1] > EMPTY:
            asked[:, :TAGGED] = self._of_text(prompt.text) / told
        if prompt.reference is not None:
            asked[:, TAGGED:] = self._of_reference(prompt.reference) / told
        return _beside(joined, asked)

    def _of_text(self, text: Tensor) -> Tensor:
        """What each tag says of a text, as a whole, by each word and by name: (B, n, D + 1) -> (B, 100)."""
        tokens, pieces = functional.normalize(text[..., :-1], dim=2), text[..., -1]
        cosines = tokens[:, 0] @ functional.normalize(self.bank_names, dim=1).T  # the first is the mean of all
        centred = cosines - cosines.mean(dim=1, keepdim=True)
        likeness = tokens @ functional.normalize(self.bank_words, dim=1).T
        meant = (likeness / NEAR).softmax(dim=2) @ self.bank_meant  # (B, n, 100)
        named = self._standardised(centred.sign() * centred.abs() ** POWER)
        whole = self._standardised(named + self._standardised(meant[:, 0]))
        word_by_word = self._standardised(meant[:, 1:-1].sum(dim=1))
        return self._standardised(whole + word_by_word + self._standardised(self._spelt(pieces)))

    def _spelt(self, pieces: Tensor) -> Tensor:
        """Tags that are named word for word: (B, n) -> (B, 100), 1, or -1 for those that are ruled out."""
        runs = functional.pad(pieces, (0, LONGEST - 1), value=ANY).unfold(1, LONGEST, 1)[:, :, None]  # (B, n, 1, 3)
        there = ((runs == self.bank_pieces) | (self.bank_pieces == ANY)).all(dim=3).any(dim=1)  # (B, SPELT)
        return (there.to(self.bank_spelt.dtype) @ self.bank_spelt).clamp(-1, 1)

    def _standardised(self, weights: Tensor) -> Tensor:
        """So that their sum has a deviation of 1 over the bank, where its mean is 0: (B, 100)."""
        spread = (_unusual(self.bank_tags, self.bank_tags) @ weights.T).std(dim=0, correction=0)[:, None]
        return weights / spread.clamp(min=1e-6)  # where nothing is asked

    def _of_reference(self, reference: Tensor) -> Tensor:
        """Weights of features and melody, and what is added to their sum: (B, r, D + EXTRA + 1) -> (B, 500 + 1)."""
        features, tune = reference[..., -FEATURES - MELODY - 1 : -1].mean(dim=1).split([FEATURES, MELODY], dim=1)
        parts = [(self._direction(features), self._direction(self.bank_features)), (tune, self.bank_melodies)]
        weights, added = [], reference.new_zeros(len(reference), 1)
        for own, bank in parts:
            usual = bank @ own.T  # (clips, B)
            spread = usual.std(dim=0, correction=0)[:, None].clamp(min=1e-3) * len(parts) ** 0.5
            weights.append(own / spread)
            added = added - usual.mean(dim=0)[:, None] / spread
        return torch.cat([*weights, added], dim=1)

    def _direction(self, features: Tensor) -> Tensor:
        return functional.normalize(_unusual(features, self.bank_features), dim=1)

    def fuse(self, prompt: Tensor, mask: Mask = None) -> Tensor:
        """And how the clips of the bank are judged under each prompt: (B, P, D + EXTRA + 3)."""
        fused = super().fuse(prompt[..., : self.config.dim], mask)
        usual = torch.stack([self._usual(row, None if mask is None else mask[i]) for i, row in enumerate(fused)])
        return torch.cat([_beside(fused, prompt[:, 0, self.config.dim :]), _beside(fused[..., :0], usual)], dim=2)

    def _usual(self, prompt: Tensor, mask: Mask) -> Tensor:
        """(P, D) -> (2,): mean and deviation of alignment over the bank; one prompt at a time, whatever its company."""
        clips = super().thin(self.bank_tokens)
        prompts = prompt.expand(len(clips), -1, -1)
        masks = None if mask is None else mask.expand(len(clips), -1)
        alignment = super().judge(prompts, clips, masks)[:, 0]
        return torch.stack([alignment.mean(), alignment.std().clamp(min=1e-3)])

    def thin(self, take: Tensor) -> Tensor:
        thinned = super().thin(take[..., : self.config.dim])
        beside = take[..., self.config.dim :].mean(dim=1)  # over chunks
        tags, features, rest = beside.split([TAGGED, FEATURES, MELODY + 1], dim=1)
        return _beside(thinned, torch.cat([_unusual(tags, self.bank_tags), self._direction(features), rest], dim=1))

    def judge(self, prompt: Tensor, take: Tensor, prompt_mask: Mask = None, take_mask: Mask = None) -> Tensor:
        dim = self.config.dim
        alignment = super().judge(prompt[..., :dim], take[..., :dim], prompt_mask, take_mask)[:, 0]
        asked, (added, mean, spread) = prompt[:, 0, dim:-3], prompt[:, 0, -3:].unbind(dim=1)
        untrained = (asked * take[:, 0, dim:-1]).sum(dim=1) + added
        own = SCALE * ((alignment - mean) / spread + WEIGHT * untrained)
        return torch.stack([own, take[:, 0, -1]], dim=1)


def _beside(tokens: Tensor, numbers: Tensor) -> Tensor:
    """Numbers (B, n) beside each of the tokens (B, T, D): (B, T, D + n)."""
    return torch.cat([tokens, numbers[:, None].expand(-1, tokens.shape[1], -1)], dim=2)


def _unusual(x: Tensor, bank: Tensor) -> Tensor:
    """In deviations from the bank's mean."""
    return (x - bank.mean(dim=0)) / bank.std(dim=0, correction=0)
