// A classic script that runs before everything else: a chosen theme is there from the first paint, and a page whose
// scripts did not all arrive says so instead of staying empty.
try {
  const theme = localStorage.getItem("cmi-arena:theme");
  if (theme === '"light"' || theme === '"dark"') document.documentElement.dataset.theme = JSON.parse(theme);
} catch {
  // A browser that keeps nothing follows its own preference.
}

addEventListener(
  "error",
  ({ target }) => {
    if (target.tagName !== "SCRIPT" || target.type !== "module") return; // the waveform player may be missing
    const message = document.createElement("p");
    message.className = "page";
    message.setAttribute("role", "alert");
    message.textContent = "The page did not load completely: reload it. 页面未能完整加载，请刷新。";
    document.body.replaceChildren(message);
  },
  true,
);
