"use strict";
(() => {
  const one = id => document.getElementById(id);
  const all = (what, within) => [...(within || document).querySelectorAll(what)];
  const make = (name, properties) => Object.assign(document.createElement(name), properties);

  // The columns' meanings stand in the page once.
  const meanings = all("#measures tr").map(row => row.cells[1].textContent);
  for (const table of all("table.progressed")) {
    all("thead th", table).slice(1).forEach((head, i) => { head.title = meanings[i] || ""; });
  }

  const matrix = document.querySelector(".matrix"), box = document.querySelector(".matrixbox");
  const body = matrix.tBodies[0], heads = [...matrix.tHead.rows[0].cells];
  const rows = () => [...body.rows].filter(row => row.dataset.recipe);
  const control = cell => cell && cell.querySelector("a, button");
  const target = a => a.value || decodeURIComponent(a.hash.slice(1)); // the cell's id
  const controls = all("td a, td button", body);
  const byID = new Map(controls.map(a => [target(a), a]));
  let pageData = null; // the page's data, once it is unpacked

  // One keyboard stop for the whole matrix; arrow keys lead through its cells.
  let stopsAt = null;
  const stop = a => {
    stopsAt = a;
    for (const other of controls) other.tabIndex = other === a ? 0 : -1;
  };
  const shown = cell => control(cell) && !cell.hidden && !cell.classList.contains("off") && !cell.parentNode.hidden;
  const firstStop = () => {
    if (!stopsAt || !shown(stopsAt.parentNode)) stop(control(rows().flatMap(row => [...row.cells]).find(shown)));
  };
  controls.forEach(a => a.setAttribute("aria-expanded", "false"));
  firstStop();
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1, true], End: [0, 1, true] };
  body.addEventListener("keydown", event => {
    const from = event.target.closest("td");
    if (event.key === "Escape" && opened) return close(true);
    const step = steps[event.key];
    if (!step || !from || control(from) !== event.target || event.ctrlKey || event.altKey || event.metaKey) return;
    const table = rows();
    let row = table.indexOf(from.parentNode), column = from.cellIndex, next = null;
    for (;;) {
      row += step[0];
      column += step[1];
      const cell = table[row] && table[row].cells[column];
      if (!cell) break;
      if (!shown(cell)) continue;
      next = control(cell);
      if (!step[2]) break;
    }
    event.preventDefault();
    if (!next) return;
    stop(next);
    next.focus();
  });

  // A cell opens below its row: what stands further down in the page moves there, and back.
  let opened = null;
  const noteOf = a => { // of a cell without a violation
    const cell = make("details", { className: "cell", open: true });
    const title = make("h4"), where = a.closest("tr").dataset.recipe + " under " + heads[a.parentNode.cellIndex].textContent;
    title.append(make("span", { textContent: where }), " ", make("span", { className: "badge " + a.parentNode.className, textContent: a.title }));
    const summary = make("summary");
    summary.append(title);
    cell.append(summary);
    const text = pageData && pageData.notes && pageData.notes[target(a)];
    cell.insertAdjacentHTML("beforeend", text || "<p></p>");
    return cell;
  };
  const width = () => { if (opened) opened.held.style.width = box.clientWidth + "px"; };
  const above = a => a.getBoundingClientRect().top;
  const keep = (a, was) => scrollBy({ top: above(a) - was, behavior: "instant" }); // where it was on the screen
  const close = focus => {
    if (!opened) return;
    const { a, cell, mark, row, was } = opened, top = above(a);
    opened = null;
    cell.open = was;
    if (mark) mark.replaceWith(cell);
    row.remove();
    box.scrollTop = a.closest("tr").offsetTop - matrix.tHead.offsetHeight; // the box scrolls again
    keep(a, top);
    a.setAttribute("aria-expanded", "false");
    if (focus) a.focus();
  };
  const open = a => { // the focus stays: Tab leads on into what is opened
    close(false);
    if (!shown(a.parentNode)) { form.reset(); arrange(); }
    const top = above(a);
    const home = one(target(a)), cell = home || noteOf(a), was = cell.open;
    const mark = home && document.createComment(target(a));
    if (home) home.replaceWith(mark);
    const row = make("tr", { className: "panel" }), inside = make("td", { colSpan: heads.length }), held = make("div", { className: "held" });
    held.append(cell);
    inside.append(held);
    row.append(inside);
    a.closest("tr").after(row);
    opened = { a, cell, mark, row, held, was };
    cell.open = true;
    width();
    draw(cell);
    a.setAttribute("aria-expanded", "true");
    stop(a);
    cell.addEventListener("toggle", () => { if (opened && opened.cell === cell && !cell.open) close(true); });
    keep(a, top);
    const place = row.getBoundingClientRect();
    if (place.top < 0 || place.bottom > innerHeight) a.closest("tr").scrollIntoView({ block: "start" });
  };
  addEventListener("resize", width);
  body.addEventListener("click", event => {
    const a = event.target.closest("td > a, td > button");
    if (!a || !byID.has(target(a))) return;
    event.preventDefault();
    if (opened && opened.a === a) return close(true);
    open(a);
    history.replaceState(null, "", "#" + encodeURIComponent(target(a)));
  });

  // Filters, and the order of the rows.
  const form = one("filter"), options = [...form.verdict.options].map(o => o.value); // worst first
  const wanted = (field, names) => {
    const words = field.value.toLowerCase().split(",").map(word => word.trim()).filter(Boolean);
    return name => !words.length || words.some(word => names.includes(word) ? word === name : name.includes(word));
  };
  const rank = cell => (options.indexOf(cell.className.split(" ")[0]) + options.length) % (options.length + 1);
  const profile = row => options.map(verdict => [...row.cells].filter(cell => verdict && cell.classList.contains(verdict)).length);
  const worse = (a, b) => { // by the number of the worst verdicts
    const x = profile(a), y = profile(b), i = x.findIndex((n, at) => n !== y[at]);
    return i < 0 ? 0 : y[i] - x[i];
  };
  const place = row => Number(row.dataset.place);
  const order = () => {
    const by = form.sort.value, column = by.startsWith("fault ") ? heads.findIndex(head => head.textContent === by.slice(6)) : -1;
    heads.forEach((head, i) => { if (i === column) head.setAttribute("aria-sort", "descending"); else head.removeAttribute("aria-sort"); });
    const compare = (a, b) => {
      if (column > 0) return rank(a.cells[column]) - rank(b.cells[column]);
      if (by === "name") return a.dataset.recipe < b.dataset.recipe ? -1 : 1;
      return by === "worst" ? worse(a, b) : 0;
    };
    body.append(...rows().sort((a, b) => compare(a, b) || place(a) - place(b)));
  };
  const arrange = () => {
    close(false);
    const table = rows(), names = table.map(row => row.dataset.recipe), faults = heads.slice(1).map(head => head.textContent);
    const recipe = wanted(form.recipe, names), fault = wanted(form.fault, faults), verdict = form.verdict.value;
    const column = heads.map((head, i) => i === 0 || fault(head.textContent));
    const fits = cell => !verdict || cell.classList.contains(verdict);
    for (const row of table) {
      const cells = [...row.cells].slice(1);
      cells.forEach(cell => cell.classList.toggle("off", !fits(cell)));
      row.hidden = !recipe(row.dataset.recipe) || !cells.some((cell, i) => column[i + 1] && fits(cell));
    }
    heads.forEach((head, i) => {
      const visible = i === 0 || column[i] && (!verdict || table.some(row => !row.hidden && fits(row.cells[i])));
      for (const row of [matrix.tHead.rows[0], ...table]) row.cells[i].hidden = !visible;
    });
    order();
    box.style.setProperty("--head", matrix.tHead.offsetHeight + 2 + "px"); // what is scrolled to stays below it
    const seen = list => list.filter(x => !x.hidden).length;
    form.count.value = `${seen(table)} of ${table.length} recipes, ${seen(heads) - 1} of ${heads.length - 1} faults`;
    firstStop();
  };
  form.hidden = false;
  form.addEventListener("input", arrange);
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(arrange));
  matrix.tHead.addEventListener("click", event => {
    const head = event.target.closest("th.fault");
    if (!head) return;
    const by = "fault " + head.textContent;
    form.sort.value = form.sort.value === by ? "answer" : by;
    arrange();
  });
  arrange();

  // A link to a cell or a section opens it.
  const reveal = () => { // a link to a mark in a timeline has its number: #cell/3
    const [id] = decodeURIComponent(location.hash.slice(1)).split("/"), place = one(id);
    if (byID.has(id)) return open(byID.get(id));
    if (place && place.matches("details")) {
      place.open = true;
      place.scrollIntoView();
    }
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", event => { // a second click on the same link
    const a = event.target.closest("a[href^='#']");
    if (a && a.hash === location.hash && !event.defaultPrevented) reveal();
  });

  // On paper, the matrix stays whole, and what was opened follows it.
  let parked = null;
  addEventListener("beforeprint", () => {
    parked = opened && opened.a;
    if (opened && opened.mark) opened.was = true;
    close(false);
    all("details[data-evidence][open]").forEach(draw);
  });
  addEventListener("afterprint", () => {
    if (!parked) return;
    const home = one(target(parked));
    if (home) home.open = false;
    open(parked);
  });

  // The evidence: stories at once, so that a search in the page finds them; the rest of a
  // cell when it is opened.
  const unpack = async element => {
    const bytes = Uint8Array.from(atob(element.textContent.trim()), c => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plain).json();
  };
  const draw = cell => {
    const number = cell.dataset.evidence, timeline = cell.querySelector(".timeline"), more = cell.querySelector(".more");
    if (!pageData || number === undefined || cell.dataset.drawn) return;
    cell.dataset.drawn = "yes";
    const frame = timeline.firstElementChild;
    if (pageData.timelines[number]) frame.innerHTML = pageData.timelines[number];
    if (frame.firstElementChild) liveTimeline(timeline);
    else timeline.append(make("p", { className: "note", textContent: "This page has no room for the timeline: lockstorm check draws it, with --timeline timeline.svg." }));
    more.insertAdjacentHTML("afterbegin", pageData.entries[number]);
    more.insertAdjacentHTML("beforeend", pageData.stored[number]);
  };
  const show = data => {
    pageData = data;
    const plots = one("plots");
    if (plots) plots.addEventListener("toggle", () => {
      for (const figure of all("[data-plot]", plots)) figure.innerHTML = pageData.plots[figure.dataset.plot];
    }, { once: true });
    for (const cell of all("details[data-evidence]")) {
      const story = cell.querySelector(".story");
      const text = pageData.stories[cell.dataset.evidence];
      if (text) story.innerHTML = text; // those that are not declared stand in the page itself
      for (const x of all("[data-from]", story)) x.innerHTML = one(x.dataset.from).innerHTML;
      cell.addEventListener("toggle", () => { if (cell.open) draw(cell); });
      if (cell.open) draw(cell);
    }
    const buttons = one("buttons");
    if (buttons) buttons.hidden = false;
    if (buttons) buttons.addEventListener("click", event => {
      const button = event.target.closest("button");
      close(false);
      if (button) for (const cell of all("details.cell")) cell.open = button.value === "open";
    });
  };
  const packed = one("evidence"), closed = one("closed");
  if (!packed) return reveal();
  unpack(packed).then(data => {
    show(data);
    if (closed) closed.remove();
    reveal();
    document.documentElement.dataset.ready = Math.round(performance.now());
  }).catch(error => {
    if (closed) closed.textContent += " (" + error + ")";
    else console.error(error);
    reveal();
  });
})();
