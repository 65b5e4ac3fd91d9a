// One player at a time; a waveform and a button beside a sentence play from their moment; tables sort by a column.
document.addEventListener("play", ({ target }) => {
  for (const player of document.querySelectorAll("audio")) if (player !== target) player.pause();
}, true);

const playFrom = (card, seconds) => {
  const player = card.querySelector("audio");
  if (!player) return;
  player.currentTime = seconds;
  player.play().catch(() => {}); // another player was started, or the file is missing, which the player shows
};

document.addEventListener("click", ({ target, clientX }) => {
  const card = target.closest(".take");
  const button = target.closest("button[data-at]");
  const wave = target.closest(".wave");
  if (card && button) playFrom(card, Number(button.dataset.at));
  else if (card && wave) {
    const box = wave.getBoundingClientRect();
    playFrom(card, (clientX - box.left) / box.width * Number(wave.dataset.seconds));
  }
});

const sortValue = (cell) => {
  const text = (cell?.dataset.value ?? cell?.textContent ?? "").trim();
  const number = Number.parseFloat(text.replace(/,(?=\d{3})/g, ""));
  return Number.isNaN(number) ? text : number;
};

// Numbers come before words, and empty cells and dashes last in either direction.
const compareCells = (a, b, sign) => {
  const isEmpty = (value) => value === "" || value === "-";
  if (isEmpty(a) || isEmpty(b)) return isEmpty(a) - isEmpty(b);
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
};

const sortBy = (table, header) => {
  const descends = header.getAttribute("aria-sort") === "ascending"
    || (!header.hasAttribute("aria-sort") && header.classList.contains("number"));
  for (const other of header.parentElement.children) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", descends ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].map((row) => [sortValue(row.cells[header.cellIndex]), row]);
  rows.sort(([a], [b]) => compareCells(a, b, descends ? -1 : 1));
  table.tBodies[0].append(...rows.map(([, row]) => row));
};

for (const table of document.querySelectorAll("table.sortable")) {
  for (const header of table.tHead.rows[0].cells) {
    if (header.tagName !== "TH") continue;
    const button = document.createElement("button");
    button.append(...header.childNodes);
    button.addEventListener("click", () => sortBy(table, header));
    header.append(button);
  }
}

// Leaderboards: filtered by task, model and kind.
const filters = document.querySelector(".filters");

const orderRows = (board, order) => {
  const body = board.querySelector("tbody");
  for (const header of board.querySelectorAll("th")) header.removeAttribute("aria-sort");
  const rows = [...body.rows];
  rows.sort((a, b) => order === "name" ? a.cells[0].textContent.localeCompare(b.cells[0].textContent)
    : a.dataset.place - b.dataset.place);
  body.append(...rows);
};

const filterBoards = () => {
  const asked = new FormData(filters);
  const kinds = asked.getAll("kind");
  const name = asked.get("model").trim().toLowerCase();
  const boards = [...document.querySelectorAll(".board")];
  for (const board of boards) {
    for (const row of board.querySelectorAll("tbody tr"))
      row.hidden = !kinds.includes(row.dataset.kind) || !row.cells[0].textContent.toLowerCase().includes(name);
    const isWanted = !asked.get("group") || board.dataset.group === asked.get("group");
    board.hidden = !isWanted || !board.querySelector("tbody tr:not([hidden])");
  }
  const shown = boards.filter((board) => !board.hidden).length;
  document.querySelector("[role=status]").textContent = `${shown} of ${boards.length} tables shown`;
};

if (filters) {
  filters.hidden = false;
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("input", (event) => {
    if (event.target.name === "order")
      for (const board of document.querySelectorAll(".board")) orderRows(board, event.target.value);
    else filterBoards();
  });
  filterBoards();
}
