"""The guess of a language: by script, by common words, or none."""

import pytest

from cmi.prompts.languages import guess_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("A slow song with piano and a female voice", "en"),
        ("Ein langsames Lied mit Klavier und einer Frauenstimme", "de"),
        ("une chanson lente avec un piano", "fr"),
        ("una canción lenta con guitarra y voz de mujer", "es"),
        ("una canzone lenta con la chitarra e una voce", "it"),
        ("uma canção lenta com violão e voz feminina", "pt"),
        ("een langzaam liedje met een stem", "nl"),
        ("一首悲伤的钢琴曲", "zh"),
        ("悲しいピアノの曲", "ja"),
        ("슬픈 피아노 발라드", "ko"),
        ("медленная песня под гитару", "ru"),
        ("أغنية حزينة", "ar"),
        ("techno, 128 bpm", ""),
        ("", ""),
        ("🎹🎹", ""),
    ],
)
def test_a_language_is_told_by_script_or_words(text, language):
    assert guess_language(text) == language
