// TimelineControls lets people zoom into a timeline, pan it, go from mark to mark, and pin one.
class TimelineControls {
  constructor(view) {
    this.view = view;
    this.tells = ""; // which mark is told, and which one is pinned
    this.addTools();
    this.listenToPointer();
    this.listenToKeys();
    addEventListener("hashchange", () => this.follow());
    view.frame.addEventListener("scroll", () => view.keepNames());
    let width = 0; // as it was drawn last
    new ResizeObserver(() => {
      const { frame, data } = view, first = !width;
      if (!frame.clientWidth || frame.clientWidth === width) return;
      width = frame.clientWidth;
      view.draw();
      if (first) frame.scrollLeft = view.x(Math.max(data.harm[0], view.from)) - width / 2; // on small screens
    }).observe(view.frame);
    if (this.follow()) return;
    this.tell(-1);
    view.draw();
    this.list();
  }

  addTools() {
    const { html } = timelineLooks, { view } = this;
    const button = (label, title, act) => {
      const b = html("button", "", view.tools, label);
      b.type = "button";
      b.title = b.ariaLabel = title;
      b.addEventListener("click", act);
    };
    button("+", "zoom in", () => this.zoom(2));
    button("−", "zoom out", () => this.zoom(1 / 2));
    button("reset", "show the whole picture", () => this.reset());
    html("span", "", view.tools, "Ctrl and wheel, pinch, + − 0 zoom; drag pans; arrow keys lead from mark to mark; a click or Enter pins one");
  }

  // show shows the time between two instants, or as much of it as there is.
  show(from, to) {
    const { view } = this;
    const span = Math.min(Math.max(to - from, 20), view.whole); // 20 µs: times are whole microseconds
    view.from = Math.min(Math.max(from, view.data.from), view.data.from + view.whole - span);
    view.to = view.from + span;
    view.draw();
    this.list();
  }

  reset() {
    this.show(this.view.data.from, this.view.data.from + this.view.whole);
  }

  // zoom zooms in around an instant: the current mark, or else the violation.
  zoom(factor, at) {
    const { view } = this, { from, to } = view;
    if (at === undefined) {
      const chosen = view.pinned >= 0 || view.svg.contains(document.activeElement);
      at = Math.min(Math.max(chosen ? view.marks[view.current].from : view.data.harm[0], from), to);
    }
    this.show(at - (at - from) / factor, at + (to - at) / factor);
  }

  pan(pixels) {
    const { view } = this;
    const by = pixels / (view.end - view.gutter) * (view.to - view.from);
    this.show(view.from + by, view.to + by);
  }

  // reveal pans so that a mark is in the part that is shown.
  reveal(m) {
    const { view } = this, span = view.to - view.from;
    if (m.to >= view.from && m.from <= view.to) return;
    view.from = Math.min(Math.max(m.from - span / 2, view.data.from), view.data.from + view.whole - span);
    view.to = view.from + span;
  }

  // pin keeps what a mark tells in the page, and a link to it in the address; -1 unpins.
  pin(n) {
    const { view } = this;
    view.pinned = n;
    if (n >= 0) {
      view.current = n;
      this.reveal(view.marks[n]);
    }
    if (view.cell) history.replaceState(null, "", "#" + view.cell.id + (n < 0 ? "" : "/" + n));
    view.draw();
    this.tell(n);
    this.list();
  }

  // follow pins the mark that the page's address names, as #cell/number.
  follow() {
    const { view } = this, [anchor, n] = TimelineControls.address();
    if (!view.cell || anchor !== view.cell.id || !view.marks[n]) return false;
    this.pin(+n);
    view.frame.scrollIntoView({ block: "center" });
    return true;
  }

  static address() {
    return decodeURIComponent(location.hash.slice(1)).split("/");
  }

  // tell writes what a mark tells below the picture. It leaves alone what is there already:
  // its link may have the focus.
  tell(n) {
    const { html } = timelineLooks, { told, cell, pinned, marks } = this.view;
    if (this.tells === n + "/" + pinned) return;
    this.tells = n + "/" + pinned;
    told.replaceChildren();
    told.hidden = n < 0;
    if (n < 0) return;
    told.append(marks[n].text);
    if (n !== pinned) return;
    told.append("\n");
    if (cell) {
      html("a", "", told, "link to this mark").href = `#${cell.id}/${n}`;
      told.append(" ");
    }
    const off = html("button", "", told, "unpin");
    off.type = "button";
    off.addEventListener("click", () => this.pin(-1));
  }

  // list writes the table below: what overlaps the part that is shown.
  list() {
    const { html } = timelineLooks, { view } = this, { rows, marks, data } = view, stamp = TimelineView.stamp;
    const findings = new Set(marks.filter(m => m.look === "found" || m.look === "other").flatMap(m => m.refs));
    const pinned = new Set(view.pinned < 0 ? [] : marks[view.pinned].refs);
    const when = r => r.who.includes("→") && !r.open ? r.to : r.from;
    const shown = rows.map((r, n) => ({ ...r, n }))
      .filter(r => !findings.has(r.n) && r.from <= view.to && (r.open || r.to >= view.from))
      .sort((a, b) => when(a) - when(b));
    const table = html("table", "");
    html("caption", "", table, `Operations, commands and faults shown, by time (commands: when they ran): ${shown.length}`);
    const head = html("tr", "", html("thead", "", table));
    for (const word of ["from", "to", "who", "what"]) html("th", "", head, word);
    const body = html("tbody", "", table);
    let first; // row to scroll to
    for (const r of shown) {
      const tr = html("tr", "", body);
      tr.classList.toggle("harmed", when(r) >= data.harm[0] && when(r) <= data.harm[1]);
      tr.classList.toggle("pinned", pinned.has(r.n));
      for (const text of [stamp(r.from), r.open ? "?" : r.to > r.from ? stamp(r.to) : "", r.who, r.what]) html("td", "", tr, text);
      if (r.marks.length) tr.addEventListener("click", () => this.pin(r.marks.find(n => !marks[n].bar) ?? r.marks[0]));
      if (!first && when(r) >= data.harm[0]) first = tr;
    }
    view.list.replaceChildren(table);
    const target = view.list.querySelector("tr.pinned") || first;
    if (target) view.list.scrollTop = Math.max(0, target.offsetTop - view.list.clientHeight / 3);
  }

  timeAt(clientX) {
    const { view } = this;
    const x = clientX - view.svg.getBoundingClientRect().left - view.gutter;
    return view.from + x / (view.end - view.gutter) * (view.to - view.from);
  }

  listenToPointer() {
    const { view } = this, { svg } = view;
    const zoomed = () => view.to - view.from < view.whole;
    svg.addEventListener("wheel", event => {
      if (event.ctrlKey || event.metaKey) { // so browsers report a touchpad's pinch, too
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 200), this.timeAt(event.clientX));
      } else if (zoomed() && (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))) {
        event.preventDefault();
        this.pan(event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX);
      }
    }, { passive: false });

    const down = new Map(); // places of pointers, by id
    let dragged = 0;
    svg.addEventListener("pointerdown", event => {
      if (!down.size) dragged = 0;
      down.set(event.pointerId, event.clientX);
    });
    addEventListener("pointermove", event => {
      if (!down.has(event.pointerId)) return;
      const apart = () => {
        const [a, b] = down.values();
        return Math.max(Math.abs(a - b), 10);
      };
      const by = event.clientX - down.get(event.pointerId), before = apart();
      if (Math.abs(by) < 3 && dragged < 3) return;
      down.set(event.pointerId, event.clientX);
      dragged += Math.abs(by);
      const places = [...down.values()];
      if (places.length === 2) this.zoom(apart() / before, this.timeAt((places[0] + places[1]) / 2));
      else if (event.pointerType === "mouse" && zoomed()) this.pan(-by);
    });
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, event => down.delete(event.pointerId));
    svg.addEventListener("click", event => {
      const g = event.target.closest("[data-n]");
      if (g && dragged < 4) this.pin(+g.dataset.n === view.pinned ? -1 : +g.dataset.n);
    });
    svg.addEventListener("focusin", event => {
      const g = event.target.closest("[data-n]");
      if (!g) return;
      view.current = +g.dataset.n;
      this.tell(view.current);
    });
    svg.addEventListener("focusout", () => this.tell(view.pinned));
  }

  // listenToKeys makes the picture one keyboard stop; arrow keys lead through its marks.
  listenToKeys() {
    const { view } = this, { svg } = view;
    const acts = { "+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(1 / 2), "0": () => this.reset(), Escape: () => this.pin(-1) };
    svg.addEventListener("keydown", event => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const arrow = event.key.startsWith("Arrow"), onMark = event.target !== svg;
      if (arrow && event.shiftKey) this.pan((view.width - view.gutter) / 4 * ({ ArrowRight: 1, ArrowLeft: -1 }[event.key] || 0));
      else if (arrow) this.go(onMark ? this.next(event.key) : view.marks[view.current]);
      else if (onMark && (event.key === "Enter" || event.key === " ")) this.pin(view.current === view.pinned ? -1 : view.current);
      else if (acts[event.key]) acts[event.key]();
      else return;
      event.preventDefault();
    });
  }

  // next returns the mark to which an arrow key leads: the next one of the lane, or the
  // closest one of the next lane; undefined at the ends.
  next(key) {
    const { marks, current, data } = this.view, here = marks[current];
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const lane = marks.filter(m => m.lane === here.lane).sort((a, b) => a.from - b.from || a.n - b.n);
      return lane[lane.indexOf(here) + (key === "ArrowRight" ? 1 : -1)];
    }
    const step = key === "ArrowDown" ? 1 : -1;
    for (let lane = here.lane + step; data.lanes[lane]; lane += step) {
      const there = marks.filter(m => m.lane === lane).sort((a, b) => Math.abs(a.from - here.from) - Math.abs(b.from - here.from));
      if (there.length) return there[0];
    }
  }

  // go moves the focus to a mark.
  go(m) {
    if (!m) return;
    const { view } = this;
    view.current = m.n;
    this.reveal(m);
    view.draw();
    view.svg.querySelector(`[data-n="${m.n}"]`)?.focus({ preventScroll: true });
  }
}

function drawTimeline(place, data, shared) {
  if (data) new TimelineControls(new TimelineView(place, data, shared));
}

// A link to a mark opens the mark's cell, whose timeline is then drawn.
{
  const open = () => {
    const [anchor, n] = TimelineControls.address(), cell = document.getElementById(anchor);
    if (n && cell && cell.matches("details")) cell.open = true;
  };
  addEventListener("hashchange", open);
  addEventListener("DOMContentLoaded", open);
}
