"""musicnn's weights without TensorFlow: its wheel from the package registry, and a reader of the checkpoints inside.

The wheel pins a TensorFlow and a NumPy that no longer install, so it is never installed: see `cmi._util.wheels`.

A TensorFlow checkpoint is two files. `.data-00000-of-00001` holds the variables' raw bytes one after the other.
`.index` says where each of them lies, in LevelDB's table format:

    footer   48 bytes: where the metaindex and the index block are, zeros, a magic number
    index    a block whose values say where the data blocks are
    block    sorted entries, each key without what it shares with the one before; restart points; compression; CRC-32C
    entry    variable name -> BundleEntryProto (dtype, shape, shard, offset, size); the empty name -> a header
"""

import io
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cmi._util import wheels
from cmi._util.errors import InputError

WHEEL = wheels.Wheel(
    "musicnn", "0.1.0", "f38a4890c648c1ddbb141c5d96d2b0a8cfcd36746002d896989f7b88beb65cfa", "musicnn's weights", 28
)
FILE_NAME = WHEEL.file_name
MODELS = ("MTT_musicnn", "MSD_musicnn")

FOOTER_BYTES = 48
MAGIC = 0xDB4775248B80FB57.to_bytes(8, "little")
UNCOMPRESSED = 0
HEADER_KEY = b""
DISK_FLOAT = np.dtype("<f4")
FLOAT = 1  # in TensorFlow's enumeration of types
HIGHEST_RANK = 8
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # protobuf's wire types

Message = dict[int, list[int | bytes]]  # field number -> its values in order


class Malformed(Exception):
    """Bytes that are not what they should be; told to the user as an InputError that names the file."""


class BundleEntry(NamedTuple):
    """Where a variable lies in the data file."""

    shape: tuple[int, ...]
    offset: int
    size: int


def find_wheel(folder: Path | None = None) -> Path:
    """The wheel in `folder` (by default the cache folder), downloaded if it is not there."""
    return wheels.find_wheel(WHEEL, folder)


def read_checkpoint(wheel: Path, model: str) -> dict[str, NDArray[np.float32]]:
    """The variables of `model`, one of `MODELS`, by name; InputError unless the wheel is the published one."""
    if model not in MODELS:
        raise InputError(f"there is no musicnn model {model!r}: choose from {', '.join(MODELS)}")
    content = wheels.read_wheel(WHEEL, wheel)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        index, data = (archive.read(f"musicnn/{model}/.{name}") for name in ("index", "data-00000-of-00001"))
    return read_variables(index, data, f"{wheel.name}: {model}")


def read_variables(index: bytes, data: bytes, where: str) -> dict[str, NDArray[np.float32]]:
    """The variables of a checkpoint by name (read-only); InputError that begins with `where` if it is damaged.

    The checksums in it are not looked at: a wheel is known by its hash.
    """
    try:
        return {_name(key): _variable(_entry(value), data) for key, value in table_entries(index) if key != HEADER_KEY}
    except Malformed as error:
        raise InputError(f"{where} is not a readable checkpoint: {error}") from error


def _name(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError as error:
        raise Malformed("a variable's name is not text") from error


def _variable(entry: BundleEntry, data: bytes) -> NDArray[np.float32]:
    if entry.offset + entry.size > len(data):
        raise Malformed("a variable lies beyond the end of the data")
    values = np.frombuffer(data, DISK_FLOAT, entry.size // DISK_FLOAT.itemsize, entry.offset)
    return values.reshape(entry.shape).astype(np.float32, copy=False)


def table_entries(table: bytes) -> Iterator[tuple[bytes, bytes]]:
    """All keys and values of a LevelDB table, in order."""
    if len(table) < FOOTER_BYTES or table[-len(MAGIC) :] != MAGIC:
        raise Malformed("the index does not end as a table does")
    footer = table[-FOOTER_BYTES : -len(MAGIC)]
    _, after_metaindex = _block_handle(footer, 0)
    index_block, _ = _block_handle(footer, after_metaindex)
    for _, value in _block_entries(_block(table, index_block)):
        handle, _ = _block_handle(value, 0)
        yield from _block_entries(_block(table, handle))


def _block_handle(data: bytes, position: int) -> tuple[slice, int]:
    """Which bytes of the table a handle at `position` names, and where the handle ends."""
    start, position = _varint(data, position)
    size, position = _varint(data, position)
    return slice(start, start + size), position


def _block(table: bytes, where: slice) -> bytes:
    if where.stop >= len(table):
        raise Malformed("the index names a block beyond its end")
    if table[where.stop] != UNCOMPRESSED:
        raise Malformed("the index is compressed")
    return table[where]


def _block_entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise Malformed("the index has an empty block")
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise Malformed("a block of the index has more restart points than bytes")
    key, position = b"", 0
    while position < end:
        shared, position = _varint(block, position)
        fresh, position = _varint(block, position)
        size, position = _varint(block, position)
        value_at = position + fresh
        if shared > len(key) or value_at + size > end:
            raise Malformed("an entry of the index is longer than its block")
        key = key[:shared] + block[position:value_at]
        position = value_at + size
        yield key, block[value_at:position]


def _entry(message: bytes) -> BundleEntry:
    """A BundleEntryProto, of which only what these checkpoints hold is understood: whole float32 variables."""
    fields = _fields(message)
    if _number(fields, 1) != FLOAT or _number(fields, 3) != 0:
        raise Malformed("a variable is not float32 in the one data file")
    shape = tuple(_number(_fields(dimension), 1) for dimension in _messages(_fields(_message(fields, 2)), 2))
    entry = BundleEntry(shape, _number(fields, 4), _number(fields, 5))
    if len(shape) > HIGHEST_RANK or 0 in shape or math.prod(shape) * DISK_FLOAT.itemsize != entry.size:
        raise Malformed("a variable's shape does not fit its size")
    return entry


def _number(fields: Message, field: int) -> int:
    """The last value of a field, as protobuf has it; 0 if it is absent."""
    value = fields.get(field, [0])[-1]
    if not isinstance(value, int):
        raise Malformed("a field of an entry has the wrong type")
    return value


def _message(fields: Message, field: int) -> bytes:
    return (_messages(fields, field) or [b""])[-1]


def _messages(fields: Message, field: int) -> list[bytes]:
    values = [value for value in fields.get(field, []) if isinstance(value, bytes)]
    if len(values) != len(fields.get(field, [])):
        raise Malformed("a field of an entry has the wrong type")
    return values


def _fields(message: bytes) -> Message:
    """A protobuf message taken apart."""
    fields: Message = {}
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        value: int | bytes
        if tag & 7 == VARINT:
            value, position = _varint(message, position)
        else:
            size = {FIXED64: 8, FIXED32: 4}.get(tag & 7)
            if size is None:
                if tag & 7 != BYTES:
                    raise Malformed("an entry has a field of an unknown type")
                size, position = _varint(message, position)
            if position + size > len(message):
                raise Malformed("a field is longer than its entry")
            value = message[position : position + size]
            position += size
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned number of at most 64 bits, seven to a byte, and where it ends."""
    value = 0
    for place in range(10):
        if position >= len(data):
            raise Malformed("a number runs beyond its end")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, position
    raise Malformed("a number is too long")
