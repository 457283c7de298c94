// TimelineView is one timeline on the page: what is shown of it, and how that is drawn.
class TimelineView {
  static heights = [20, 20, 40, 32]; // of lanes: faults, findings, a client, a key
  static right = 14;
  static top = 22;
  static axis = 40;
  static gap = 6;
  static leastWidth = 640; // in pixels; smaller screens scroll
  static count = 0;

  constructor(place, data, shared) {
    const { html, make, widthOf } = timelineLooks;
    this.id = "tl" + TimelineView.count++;
    this.data = data;
    this.shared = shared;
    this.cell = place.closest("details");
    this.unpack();
    this.whole = Math.max(data.to - data.from, 1);
    this.from = data.from; // what is shown, in microseconds
    this.to = data.from + this.whole;
    this.current = 0; // the mark that the keyboard is on
    this.pinned = -1;
    this.width = TimelineView.leastWidth;
    this.gutter = Math.max(58, ...data.lanes.map(lane => widthOf(lane.label || "", "12px") + 12));
    this.stack();

    this.tools = html("div", "timeline-tools", place);
    this.frame = html("div", "timeline-box", place);
    this.svg = make("svg", { role: "group", tabindex: 0, "aria-label": data.subtitle }, this.frame);
    this.told = html("div", "timeline-told", place);
    this.told.setAttribute("role", "status");
    this.drawLegend(html("ul", "timeline-legend", place));
    this.list = html("div", "timeline-rows", place);
    this.list.tabIndex = 0;
    this.list.setAttribute("role", "region");
    this.list.ariaLabel = "operations and commands";
  }

  // unpack turns the arrays of the data into rows and marks with times; see package timeline.
  unpack() {
    let at = 0;
    const { rows, lanes } = this.data;
    this.rows = rows.from.map((since, i) => {
      at += since;
      const length = rows.length[i];
      return { from: at, to: at + Math.max(0, length), open: length < 0, who: rows.who[i], what: rows.what[i], marks: [] };
    });
    this.marks = [];
    lanes.forEach((lane, n) => {
      for (const [look, at, length, whose, label, times, ...refs] of lane.bars || []) {
        const first = this.rows[refs[0]];
        const from = at === null ? first.from : at < 0 ? first.to : at;
        this.marks.push({ bar: true, look, lane: n, from, to: at === null ? first.to : from + length, whose, label, times, refs });
      }
      for (const [look, at, client, foreign, label, ...refs] of lane.marks || []) {
        const from = at === null ? this.rows[refs[0]].to : at;
        this.marks.push({ look, lane: n, from, to: from, whose: client, foreign, label, refs });
      }
    });
    this.marks.forEach((m, i) => {
      m.n = i;
      m.text = this.textOf(m);
      for (const r of m.refs) this.rows[r].marks.push(i);
    });
  }

  // textOf returns what a mark tells: its rows, a line each.
  textOf(m) {
    const stamp = TimelineView.stamp;
    const line = r => `${r.who}: ${r.what} (${stamp(r.from)}${r.open ? " s to ?" : r.to > r.from ? ` to ${stamp(r.to)} s` : " s"})`;
    const lines = m.refs.map(r => line(this.rows[r]));
    if (m.times > 1 && lines.length) lines[0] = `${m.times} attempts, the first: ${lines[0]}`;
    const believed = ["hold", "shared", "gone"].includes(m.look);
    if (believed || !lines.length) lines.unshift(line({ ...m, who: this.data.lanes[m.lane].label, what: m.label || m.look }));
    return lines.join("\n");
  }

  static stamp(micro) {
    return (micro / 1e6).toFixed(6);
  }

  // stack places the lanes from top to bottom.
  stack() {
    const { lanes } = this.data;
    this.tops = [];
    this.bottom = TimelineView.top;
    lanes.forEach((lane, i) => {
      if (i && lanes[i - 1].kind !== lane.kind) this.bottom += TimelineView.gap;
      this.tops.push(this.bottom);
      this.bottom += TimelineView.heights[lane.kind];
    });
  }

  get end() {
    return this.width - TimelineView.right;
  }

  x(t) {
    return this.gutter + (t - this.from) / (this.to - this.from) * (this.end - this.gutter);
  }

  // within keeps a place inside the lanes.
  within(x) {
    return Math.min(Math.max(x, this.gutter), this.end);
  }

  middle(lane) {
    return this.tops[lane] + TimelineView.heights[this.data.lanes[lane].kind] / 2;
  }

  faultInk(name) {
    return this.shared.faults[name] || "var(--muted)";
  }

  ink(m) {
    if (m.foreign) return "var(--alarm)";
    if (m.look === "fault") return this.faultInk(m.whose);
    const inks = this.shared.key.inks;
    return m.whose < 0 ? "var(--ink)" : inks[m.whose % inks.length];
  }

  draw() {
    const { make } = timelineLooks, { svg } = this;
    const focused = svg.contains(document.activeElement) && document.activeElement !== svg;
    this.width = Math.max(this.frame.clientWidth, TimelineView.leastWidth);
    const height = this.bottom + TimelineView.axis;
    svg.replaceChildren();
    svg.setAttribute("width", this.width);
    svg.setAttribute("height", height);
    svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    const hatch = timelineLooks.patterns(svg, this.id);
    const clip = make("clipPath", { id: this.id + "-clip" }, svg);
    make("rect", { x: this.gutter, y: 0, width: this.end - this.gutter, height: this.bottom + 4 }, clip);
    this.drawLanes();
    this.drawAxis();
    const inner = make("g", { "clip-path": `url(#${this.id}-clip)` }, svg);
    this.drawGround(inner, hatch);
    for (const m of this.marks) if (m.bar) this.drawMark(inner, m, hatch);
    this.drawHarm(inner);
    for (const m of this.marks) if (!m.bar) this.drawMark(inner, m, hatch);
    this.drawLabels(inner);
    this.drawNames();
    const mark = svg.querySelector(`[data-n="${this.current}"]`);
    if (mark) mark.tabIndex = 0;
    if (focused) (mark || svg).focus({ preventScroll: true });
  }

  drawLanes() {
    const { box } = timelineLooks;
    this.data.lanes.forEach((lane, i) => {
      if (lane.kind > 1) box(this.svg, "tl-lane", this.gutter, this.tops[i] + 1, this.end - this.gutter, TimelineView.heights[lane.kind] - 2);
    });
  }

  // drawNames names the lanes, over all else: they stay in sight when a small screen scrolls.
  drawNames() {
    const { box, make } = timelineLooks;
    this.names = make("g", {}, this.svg);
    box(this.names, "tl-names", 0, TimelineView.top, this.gutter - 2, this.bottom - TimelineView.top);
    this.data.lanes.forEach((lane, i) => {
      if (lane.label) make("text", { class: "axis", x: this.gutter - 8, y: this.middle(i) + 4, "text-anchor": "end" }, this.names, lane.label);
    });
    this.keepNames();
  }

  keepNames() {
    this.names.setAttribute("transform", `translate(${this.frame.scrollLeft})`);
  }

  drawAxis() {
    const { make, path } = timelineLooks, { svg, bottom } = this;
    const least = (this.to - this.from) / 8, base = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].find(m => m * base >= least) * base;
    const decimals = Math.max(0, 6 - Math.floor(Math.log10(step) + 1e-9));
    for (let n = Math.ceil(this.from / step - 1e-6); n * step <= this.to; n++) {
      const x = this.x(n * step).toFixed(2);
      path(svg, "tl-grid", `M${x},${TimelineView.top}V${bottom}`);
      path(svg, "tl-axis", `M${x},${bottom}v5`);
      make("text", { class: "axis", x, y: bottom + 18, "text-anchor": "middle" }, svg, (n * step / 1e6).toFixed(decimals));
    }
    path(svg, "tl-axis", `M${this.gutter},${bottom}H${this.end}`);
    make("text", { class: "quiet small", x: (this.gutter + this.end) / 2, y: bottom + 34, "text-anchor": "middle" }, svg, "seconds since the trial's start");
  }

  // drawGround draws what lies below the bars: faults, the harm, and what is aimed at a lane.
  drawGround(g, hatch) {
    const { box, path } = timelineLooks, { data, bottom } = this, top = TimelineView.top;
    const span = (className, from, to, y, height, color) => {
      const left = this.within(this.x(from));
      const r = box(g, className, left, y, this.within(this.x(to)) - left, height);
      if (r && color) r.style.setProperty("--ink-of", color);
      return r;
    };
    for (const m of this.marks) if (m.look === "fault") span("tl-band", m.from, m.to, top, bottom - top, this.ink(m));
    span("tl-harm", data.harm[0], data.harm[1], top, bottom - top);
    data.lanes.forEach((lane, i) => {
      const y = this.tops[i] + 1, height = TimelineView.heights[lane.kind] - 2;
      for (const [from, length, fault] of lane.shades || []) {
        const color = this.faultInk(fault);
        span("tl-shade", from, from + length, y, height, color);
        const r = span("", from, from + length, y, height);
        if (r) r.setAttribute("fill", hatch("shade", color));
      }
      if (lane.dead && lane.dead <= this.to) {
        span("tl-dead", lane.dead, this.to, y, height);
        path(g, "tl-deadline", `M${this.within(this.x(lane.dead))},${y + height / 2}H${this.end}`);
      }
    });
  }

  // drawHarm marks the moment of the violation, and its end.
  drawHarm(g) {
    const { make, path, widthOf } = timelineLooks, top = TimelineView.top;
    const [from, to, label] = this.data.harm;
    const ends = to > from && to < this.data.to ? [from, to] : [from];
    const shown = t => t >= this.from && t <= this.to;
    for (const t of ends) if (shown(t)) path(g, "tl-edge", `M${this.x(t).toFixed(2)},${top}V${this.bottom}`);
    if (shown(from)) path(g, "tl-found", `M${this.x(from) - 5},${top - 4}h10l-5,8z`);
    if (to < this.from || from > this.to) return;
    const half = widthOf(label, "bold 12px") / 2;
    const middle = (this.within(this.x(from)) + this.within(this.x(to))) / 2;
    make("text", { class: "alarm", x: Math.min(Math.max(middle, this.gutter + half), this.end - half), y: 13, "text-anchor": "middle" }, g, label);
  }

  // extent returns the left and the right edge of a mark. Short bars are wide enough to be
  // seen.
  extent(m) {
    const x = this.x(m.from);
    return [x, m.bar ? Math.max(this.x(m.to), x + (m.look === "busy" || m.look === "try" ? 3 : 2)) : x];
  }

  drawMark(parent, m, hatch) {
    const { make, box, bars, marks, tops } = timelineLooks;
    const [x0, x1] = this.extent(m), y = this.middle(m.lane);
    if (x1 < this.gutter - 6 || x0 > this.end + 6) return;
    const g = make("g", {
      class: "tl-mark" + (m.n === this.pinned ? " pinned" : ""), "data-n": m.n, tabindex: -1,
      role: "img", "aria-label": m.text, style: "--ink-of:" + this.ink(m),
    }, parent);
    make("title", {}, g, m.text);
    if (!m.bar) {
      marks[m.look](g, +x0.toFixed(2), y, true);
      box(g, "tl-hit", x0 - 6, y + (tops[m.look] || -19), 12, 14);
      return;
    }
    const from = Math.max(x0, this.gutter - 50), to = Math.min(x1, this.end + 50); // deep in, bars are huge
    bars[m.look](g, from, y, to - from, kind => hatch(kind, this.ink(m)));
    const [low, tall] = { wait: [-3, 6], try: [-6, 12], busy: [-6, 12], fault: [-9, 18], found: [-9, 18], other: [-9, 18] }[m.look] || [-10, 22];
    box(g, "tl-hit", from, y + low, Math.max(to - from, 5), tall);
  }

  // drawLabels writes texts into bars, or beside marks and short bars of faults and findings,
  // where nothing else is written.
  drawLabels(g) {
    const { make, widthOf } = timelineLooks;
    const taken = this.data.lanes.map(() => []);
    const free = (lane, from, to) => from >= this.gutter && to <= this.end && taken[lane].every(([a, b]) => to + 3 < a || from - 3 > b);
    const clear = (m, from, to) => free(m.lane, from, to) && !this.marks.some(o => {
      if (!o.bar || o.lane !== m.lane || o === m) return false;
      const [a, b] = this.extent(o);
      return a < to && b > from;
    });
    const write = (m, className, x, width, dy) => {
      taken[m.lane].push([x, x + width]);
      const t = make("text", { class: "small " + className, x: x.toFixed(1), y: this.middle(m.lane) + dy, "pointer-events": "none" }, g, m.label);
      const on = this.shared.key.on;
      if (m.look === "hold") t.style.setProperty("--on", on[m.whose % on.length]);
    };
    const outside = { fault: 4, found: 4, other: 4 };
    const inside = { hold: "on", gone: "halo", unknown: "halo", found: "onalarm" };
    for (const m of this.marks) {
      const [x0, x1] = this.extent(m);
      if (!m.bar || !m.label || ["wait", "try", "busy"].includes(m.look) || x1 < this.gutter || x0 > this.end) continue;
      const x = Math.max(x0, this.gutter) + 5, width = widthOf(m.label, "11px");
      const dy = outside[m.look] || (m.look === "key" || m.look === "ever" ? 6 : 5);
      if (x + width <= Math.min(x1, this.end) - 2) write(m, inside[m.look] || "", x, width, dy);
      else if (!outside[m.look]) continue;
      else if (clear(m, x1 + 4, x1 + 4 + width)) write(m, "halo", x1 + 4, width, dy);
      else if (clear(m, x0 - 4 - width, x0 - 4)) write(m, "halo", x0 - 4 - width, width, dy);
    }
    for (const m of this.marks) {
      const x = this.x(m.from);
      if (m.bar || !m.label || x < this.gutter || x > this.end) continue;
      const width = widthOf(m.label, "11px"), dy = TimelineView.heights[this.data.lanes[m.lane].kind] > 24 ? -6 : 4;
      if (free(m.lane, x + 8, x + 8 + width)) write(m, "halo", x + 8, width, dy);
      else if (free(m.lane, x - 8 - width, x - 8)) write(m, "halo", x - 8 - width, width, dy);
    }
  }

  drawLegend(list) {
    const { make, html, bars, marks, grounds, patterns } = timelineLooks, { key } = this.shared;
    for (const n of this.data.legend) {
      const { name, text } = key.samples[n], item = html("li", "", list);
      const svg = make("svg", { viewBox: "0 0 18 14", "aria-hidden": "true" }, item);
      const hatch = patterns(svg, this.id + "-" + name);
      const color = name === "fault" || name === "shade" ? "var(--muted)" : bars[name] ? key.inks[0] : "var(--ink)";
      const fill = kind => hatch(kind, kind === "stripes" ? key.inks[0] : undefined);
      const g = make("g", { style: "--ink-of:" + color }, svg);
      if (bars[name]) {
        g.setAttribute("transform", "translate(1,7) scale(1,.6)");
        bars[name](g, 0, 0, 16, fill);
      } else if (marks[name]) marks[name](g, 9, 7, false);
      else grounds[name](g, 1, 7, 16, fill);
      item.append(text);
    }
  }
}

