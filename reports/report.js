"use strict";
(() => {
  const one = id => document.getElementById(id);
  const all = (what, within) => [...(within || document).querySelectorAll(what)];

  // The columns' meanings stand in the page once.
  const meanings = all("#measures tr").map(row => row.cells[1].textContent);
  for (const table of all("table.progressed")) {
    all("thead th", table).slice(1).forEach((head, i) => { head.title = meanings[i] || ""; });
  }

  // One keyboard stop for the whole matrix; arrow keys lead through its cells.
  const links = all(".matrix td a");
  links.forEach((a, i) => { a.tabIndex = i ? -1 : 0; });
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const matrix = document.querySelector(".matrix");
  if (matrix) matrix.addEventListener("keydown", event => {
    const step = steps[event.key], from = event.target.closest("td");
    if (!step || !from || event.ctrlKey || event.altKey || event.metaKey) return;
    let row = from.parentNode.sectionRowIndex, column = from.cellIndex, next;
    const rows = matrix.tBodies[0].rows;
    do {
      row += step[0];
      column += step[1];
      next = rows[row] && rows[row].cells[column];
    } while (next && !next.querySelector("a"));
    if (!next) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.querySelector("a").tabIndex = 0;
    next.querySelector("a").focus();
  });

  // A link to a cell opens it.
  const reveal = () => {
    const cell = one(decodeURIComponent(location.hash.slice(1)));
    if (cell && cell.matches("details")) {
      cell.open = true;
      cell.scrollIntoView();
    }
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", event => { // a second click on the same link
    const a = event.target.closest("a[href^='#']");
    if (a && a.hash === location.hash) reveal();
  });

  // The evidence: stories at once, so that a search in the page finds them; pictures when
  // their cell is opened.
  const packed = one("evidence"), closed = one("closed");
  if (!packed) return reveal();
  const unpack = async () => {
    const bytes = Uint8Array.from(atob(packed.textContent.trim()), c => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plain).json();
  };
  const show = exhibits => {
    for (const figure of all("[data-plot]")) figure.innerHTML = exhibits.plots[figure.dataset.plot];
    const draw = cell => {
      const place = cell.querySelector(".timeline");
      if (place && !place.firstChild) place.innerHTML = exhibits.timelines[cell.dataset.evidence];
    };
    for (const cell of all("details[data-evidence]")) {
      const story = cell.querySelector(".story");
      const text = exhibits.stories[cell.dataset.evidence];
      if (text) story.innerHTML = text; // those that are not declared stand in the page itself
      for (const x of all("[data-from]", story)) x.innerHTML = one(x.dataset.from).innerHTML;
      cell.addEventListener("toggle", () => { if (cell.open) draw(cell); });
      if (cell.open) draw(cell);
    }
    const buttons = one("buttons");
    if (buttons) buttons.hidden = false;
    if (buttons) buttons.addEventListener("click", event => {
      const button = event.target.closest("button");
      if (button) for (const cell of all("details.cell")) cell.open = button.value === "open";
    });
    addEventListener("beforeprint", () => all("details[data-evidence][open]").forEach(draw));
    if (closed) closed.remove();
    reveal();
    document.documentElement.dataset.ready = Math.round(performance.now());
  };
  unpack().then(show).catch(error => {
    if (closed) closed.textContent += " (" + error + ")";
    reveal();
  });
})();
