const same = document.getElementById("same");
let last = null;
document.addEventListener("play", ({ target }) => {
  if (last && last !== target) {
    last.pause();
    if (same.checked && !last.ended) target.currentTime = last.currentTime;
  }
  last = target;
}, true);
