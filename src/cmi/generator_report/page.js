document.addEventListener("play", ({ target }) => {
  for (const player of document.querySelectorAll("audio")) if (player !== target) player.pause();
}, true);
const playFrom = (card, seconds) => {
  const player = card.querySelector("audio");
  player.currentTime = seconds;
  player.play();
};
document.addEventListener("click", (event) => {
  const card = event.target.closest(".take");
  if (!card) return;
  const button = event.target.closest("button");
  const wave = event.target.closest(".wave");
  if (button) playFrom(card, Number(button.dataset.at));
  else if (wave) {
    const box = wave.getBoundingClientRect();
    playFrom(card, (event.clientX - box.left) / box.width * Number(wave.dataset.seconds));
  }
});
