"""wavesurfer.js, which draws the waveforms of the arena's pages: from a wheel of the package registry, never a CDN.

The wheel `wavesurfer` carries wavesurfer.js 7 (BSD-3-Clause, Katspaugh and contributors) and its plugins as files. They
are read out of the wheel and served by the arena itself, with their licence beside them.
"""

import io
import zipfile
from pathlib import Path

from cmi._util.wheels import Wheel, find_wheel, read_wheel

WHEEL = Wheel(
    "wavesurfer",
    "0.3.9",
    "17fe610b68d4a64f65ca153046a668445b81d19ca90e64c0214be83a078dc6bf",
    "the waveform player",
    0.2,
)
FILES = {
    "wavesurfer.js": "wavesurfer/js/wavesurfer.min.js",
    "wavesurfer-regions.js": "wavesurfer/js/plugins/regions.min.js",
    "wavesurfer-licence.txt": "wavesurfer/js/vendor-licenses/wavesurfer.js.LICENSE",
}


def read_player(folder: Path | None = None) -> dict[str, bytes]:
    """The files by the names they are served under; downloaded to `folder` (by default the cache folder) if need be."""
    content = read_wheel(WHEEL, find_wheel(WHEEL, folder))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(inside) for name, inside in FILES.items()}
