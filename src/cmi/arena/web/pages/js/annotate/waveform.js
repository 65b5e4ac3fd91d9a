// Draws a recording's waveform with wavesurfer.js from peaks that the server computed: nothing is decoded to draw it.
//
// Click to seek, drag to mark a loop. Without wavesurfer.js or peaks, `draw` returns null and the seek bar is shown.
const HEIGHT = 72; // pixels; the content policy names wavesurfer's style by its hash, and this is in that style

export function draw(container, player) {
  const { WaveSurfer } = window;
  if (!WaveSurfer || !player.sound.peaks) return null;
  const regions = WaveSurfer.Regions?.create();
  const wave = WaveSurfer.create({
    container,
    media: player.audio,
    peaks: [player.sound.peaks],
    duration: player.seconds,
    height: HEIGHT,
    normalize: true,
    barWidth: 2,
    barGap: 2,
    barRadius: 2,
    cursorWidth: 2,
    hideScrollbar: true,
    plugins: regions ? [regions] : [],
    ...colours(container),
  });
  document.addEventListener("themechange", () => wave.setOptions(colours(container)), { signal: player.closed });
  if (regions) tieLoop(regions, player, container);
  return wave;
}

function colours(container) {
  const { color, textDecorationColor } = getComputedStyle(container);
  return { waveColor: textDecorationColor, progressColor: color, cursorColor: color };
}

/** The region on the waveform is the player's loop, whichever of them was changed. */
function tieLoop(regions, player, container) {
  const tint = () => getComputedStyle(container).color.replace(/^rgb\((.*)\)$/, "rgba($1, 0.14)");
  let drawing = false;
  regions.enableDragSelection({ color: tint() });
  regions.on("region-created", (region) => {
    for (const other of regions.getRegions()) if (other !== region) other.remove();
    if (!drawing) player.setLoop({ start: region.start, end: region.end });
  });
  regions.on("region-updated", (region) => player.setLoop({ start: region.start, end: region.end }));
  player.addEventListener("change", () => {
    const shown = regions.getRegions()[0];
    const { loop } = player;
    if (loop?.end === undefined) shown?.remove();
    else if (!shown || shown.start !== loop.start || shown.end !== loop.end) {
      drawing = true;
      regions.addRegion({ start: loop.start, end: loop.end, color: tint() });
      drawing = false;
    }
  });
}
