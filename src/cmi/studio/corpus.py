"""Pieces from music21's corpus: Bach's chorales and the fiddle tunes of Ryan's Mammoth Collection.

Notes, lengths, parts, metre and bars are the score's, with ties joined and repeats played once. A pickup is preceded by
rests, so bars begin on every `metre`th beat. A beat is the metre's: a dotted quarter in 6/8. The key is the one stated;
scores in which music21's analysis finds another, or that do not end on the tonic, are not on the list. Missing tempos,
instruments and mood are those of the kind; all notes have one velocity.
"""

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cmi._util.errors import InputError, MissingExtra
from cmi.studio.piece import Attributes, InstrumentPart, Mode, MusicalKey, Note, Piece, Role, by_start, even_beats

VELOCITY = 80


class Kind(NamedTuple):
    suffix: str
    style: str
    mood: str
    tempo: float  # beats a minute, if the score has no mark
    instrument: tuple[str, int]  # its name and program


KINDS = {
    "bach": Kind(".mxl", "chorale", "solemn", 72.0, ("church organ", 19)),
    "ryansMammoth": Kind(".abc", "fiddle tune", "lively", 112.0, ("violin", 40)),
}
SPARSE, BUSY = 1.5, 3.5  # onsets a second
CHORALES = """
    5.7 6.6 9.7 10.7 11.6 13.6 14.5 16.6 17.7 20.7 20.11 24.6 25.6 26.6 28.6 30.6 32.6 36.4-2 36.8-2 37.6 39.7 40.6
    42.7 43.11 44.7 45.7 47.5 48.7 55.5 57.8 64.4 64.8 65.7 66.6 67.7 69.6-a 70.7 72.6 74.8 78.7 80.8 81.7 84.5 86.6
    88.7 89.6 90.5 92.9 94.8 99.6 101.7 103.6 104.6 108.6 110.7 111.6 112.5 113.8 114.7 115.6 116.6 117.4 122.6 123.6
    125.6 126.6 133.6 139.6 140.7 144.3 144.6 145-a 146.8 148.6 151.5 153.9 154.3 154.8 155.5 156.6 157.5 158.4 159.5
    162.6-lpz 164.6 165.6 168.6 169.7 177.4 177.5 178.7 179.6 180.7 183.5 187.7 188.6 190.7 194.6 194.12 197.5 197.7-a
    197.10 226.2 227.1 227.7 227.11 229.2 244.3 244.10 244.25 244.29-a 244.32 244.37 244.44 244.46 245.5 245.11 245.14
    245.17 245.22 245.26 245.28 245.40 248.12-2 248.23-s 248.33-3 248.35-3 248.42-s 248.46-5 248.53-5 248.64-s 253 256
    257 258 259 260 262 263 264 267 269 272 278 279 280 281 282 285 286 287 290 292 294 295 299 301 302 303 306 307
    308 310 313 315 316 317 318 320 321 323 325 326 327 329 330 331 332 333 334 336 338 339 345 346 347 348 349 350
    352 353 355 356 358 359 360 361 363 366 367 368 373 375 376 377 378 379 380 381 385 386 388 389 390 391 392 393
    394 395 396 397 398 400 401 402 404 405 406 407 409 410 411 414 415 416 417 418 419 420 421 424 427 428 429 430
    431 432 433 434 435 436 438
""".split()
TUNES = """
    AlbemarleHornpipe AllAboardReel AmericanHornpipe ApolloClubHornpipe ArmyAndNavyReel AutographHornpipe
    BalkanHornpipe BecauseHeWasABonnieLadReel BellesOfSouthBostonHornpipe BenButlersReel BlanchardsHornpipe
    BloomingMeadowsJig BobTaylorsClog BonnieKatesReel BostonReel BraesOfDumblaneReel BrokenSixpenceReel
    BuckleysHornpipe BunchOfRosesReel CaleSmithsPastimeReel CaliforniaHornpipe CameronsFavoriteLancashireClog
    CapeCodReel CharmingKatysReel CinncinnatiHornpipe CoquetteHornpipe CountessOfLoudensReel CupidoHornpipe
    DanishHornpipe DemocraticHornpipe DevilsDreamReel DominoHighlandFling DublinBoysJig DundeeHornpipe DuxburyHornpipe
    ElksFestivalHornpipe ErieHornpipe EveryBodysHornpipe FightAboutTheFiresideReel FishermansFrolicLancashireClog
    FloridaCrackersHornpipe ForestFlowerHighlandFling FoxieMaryReel GarthlandsStrathspey
    GoToTheDevilAndShakeYourselfJig GoldenTressesHornpipe GoodByeSweetheartReel GreatWesternLancashireClog
    GreenTreesOfAtholReel HandOrganHornpipe HarlequinHornpipe HasteToTheWeddingJig HenriettaHornpipe HopJig
    HullsVictoryHornpipe HumourOfGlenJig IdylHornpipe IndianRiverHornpipe JackSmithsFavoriteReel
    JacksonsMorningBrushJig JauntingCarHornpipe JennysBabyReel JimmyHolmesFavoriteReel JohnnysGoneToFranceReel
    JudysReel KeyWestHornpipe KilwinningsSteepleReel LadyBairdsStrathspey LadyEdmontonsReel LadyHarrietsReel
    LampLightersHornpipe LandOfSweetErinJig LarryDownsReel LeesDoubleClog LeviathanHornpipe LochNaGarStrathspey
    LordDalhousiesReel LordMoirasHornpipe MaidOfAthensReel MarchionessOfHuntlysStrathspey MarquisHansleysReel
    MarshallHillsHornpipe MinnieFostersClog MissCampbellsReel MissDrummondOfPerthStrathspey MissJessWatsonsHornpipe
    MissPlaudysReel MollRoe MorningfairHornpipe MountYourBaggageJig MunciesFavoriteLancashireClog MyPrettyFairMaidJig
    NaglesLastJig NationalLancersHornpipe NedKendallsFavoriteReel NewBedfordReel NewLineReel NielGowsReel
    NorthStarHornpipe OccidentalHornpipe OldFigaryOJig OldZipCoonReel_G OnceUponMyCheekReel OstinellisReel
    OwnysBestJig PaddyCareysFortuneJig PaddyMurphysWife PaddyOnTheRailroadReel PaddyWhackJig PalermoHornpipe
    PantomimeReel ParrysHornpipe PatInHisGloryJig PeasantsDanceHornpipe PeggyWhifflesReel PicnicReel PipersLassReel
    PothougeJig PrettyJanesReel PrimaDonnaHornpipe PrinceRegentsHornpipe QueenOfTheWestHornpipe RackettyJacksReel
    RamblerFromClareJig RathkealeHuntReel RidingOnAHandCarJig RootHogOrDieJig RoseOfTheValleyReel SailorsRansomReel
    SamHidesJig SaratogaReel SebastapolHornpipe SheeLaNaQuiraJig ShunstersHornpipe SpiritOf1881Hornpipe
    SportingBoysJig SweetEllenOrFigureEight TatterJackWelchJig TerpsichoreanHornpipe TivoliJig TripToGalwayJig
    UnknownReel WadeHamptonsHornpipe WeeBitReel WhipplesHornpipe WideAwakeReel WillottsHornpipe YachtClubReel
""".split()


def corpus_names() -> list[str]:
    """Names for `read_score`: 'bach/bwv10.7', 'ryansMammoth/AlbemarleHornpipe', ...

    Selected for one metre, at least eight complete bars, an unambiguous key, and fast reading (0.1 to 0.4 s).
    """
    return [f"bach/bwv{number}" for number in CHORALES] + [f"ryansMammoth/{title}" for title in TUNES]


def repeated(piece: Piece, seconds: float) -> Piece:
    """Repeat the piece until it lasts at least `seconds`."""
    times, count, length = -(-seconds // piece.seconds), len(piece.beats) - 1, piece.seconds
    if times <= 1:
        return piece
    rounds = range(int(times))
    parts = tuple(
        replace(part, notes=tuple(n._replace(start=n.start + i * count) for i in rounds for n in part.notes))
        for part in piece.parts
    )
    beats = (*(beat + i * length for i in rounds for beat in piece.beats[:-1]), times * length)
    return replace(piece, parts=parts, beats=beats)


def read_score(name: str) -> Piece:
    """Read a score of the corpus as a piece."""
    kind, path = _locate(name)
    try:
        from music21 import converter
    except ImportError as error:
        raise MissingExtra("music21's corpus", "studio") from error
    score: Any = converter.parse(path, forceSource=True, storePickle=False)  # music21 would keep a copy in /tmp
    metre, beat, lead = _metre(name, score)
    parts = [part for part in score.parts if part.recurse().notes]
    notes = [_notes(part, beat, lead) for part in parts]
    bars = max(-(-(note.start + note.length - 1e-6) // metre) for part in notes for note in part)
    tempo = _tempo(score, beat) or kind.tempo
    beats = even_beats(int(bars) * metre, tempo)
    return Piece(
        name=name,
        parts=tuple(_part(kind, i, len(parts), played) for i, played in enumerate(notes)),
        beats=beats,
        metre=metre,
        key=_key(name, score),
        attributes=Attributes(kind.style, kind.mood, tempo, _density(notes, beats[-1])),
    )


def _locate(name: str) -> tuple[Kind, Path]:
    package = importlib.util.find_spec("music21")
    if package is None or not package.submodule_search_locations:
        raise MissingExtra("music21's corpus", "studio")
    folder, _, title = name.partition("/")
    kind = KINDS.get(folder)
    if kind is None or name not in corpus_names():
        raise InputError(f"{name!r} is not one of the corpus's scores in corpus_names()")
    return kind, Path(package.submodule_search_locations[0]) / "corpus" / folder / f"{title}{kind.suffix}"


def _metre(name: str, score: Any) -> tuple[int, float, float]:
    """Beats in a bar, quarters in a beat, and beats of rest before a pickup."""
    top = score.parts[0]
    signatures = {signature.ratioString: signature for signature in top.recurse().getElementsByClass("TimeSignature")}
    if len(signatures) != 1:
        raise InputError(f"{name}: {len(signatures)} metres, expected one")
    signature = next(iter(signatures.values()))
    beat = float(signature.beatDuration.quarterLength)
    pickup = float(top.getElementsByClass("Measure").first().duration.quarterLength) / beat
    metre = int(signature.beatCount)
    return metre, beat, metre - pickup if pickup < metre else 0.0


def _key(name: str, score: Any) -> MusicalKey:
    stated = score.recurse().getElementsByClass("Key").first()
    if stated is None or stated.mode not in ("major", "minor"):
        raise InputError(f"{name}: states no major or minor key")
    mode: Mode = "major" if stated.mode == "major" else "minor"
    return MusicalKey(stated.tonic.pitchClass, mode)


def _notes(part: Any, beat: float, lead: float) -> tuple[Note, ...]:
    """A part's notes in beats, without grace notes."""
    return by_start(
        Note(float(element.offset) / beat + lead, float(element.quarterLength) / beat, pitch.midi, VELOCITY)
        for element in part.stripTies().flatten().notes
        if element.quarterLength and element.classes[0] != "ChordSymbol"
        for pitch in element.pitches
    )


def _tempo(score: Any, beat: float) -> float | None:
    mark = score.recurse().getElementsByClass("MetronomeMark").first()
    quarters = mark.getQuarterBPM() if mark else None
    return float(quarters) / beat if quarters else None


def _part(kind: Kind, index: int, parts: int, notes: tuple[Note, ...]) -> InstrumentPart:
    instrument, program = kind.instrument
    role: Role = "melody" if index == 0 else "bass" if index == parts - 1 else "harmony"
    return InstrumentPart(role, instrument, program, notes)


def _density(notes: list[tuple[Note, ...]], seconds: float) -> Literal["sparse", "moderate", "busy"]:
    """Classify by distinct note onsets per second."""
    onsets = len({round(note.start, 3) for part in notes for note in part}) / seconds
    return "sparse" if onsets < SPARSE else "busy" if onsets > BUSY else "moderate"
