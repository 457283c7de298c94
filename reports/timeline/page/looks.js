// timelineLooks draws the single marks of timelines, and the elements around them.
const timelineLooks = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  const make = (name, attributes, parent, text) => {
    const e = document.createElementNS(SVG, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.append(e);
    return e;
  };
  const html = (name, className, parent, text) => {
    const e = document.createElement(name);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    if (parent) parent.append(e);
    return e;
  };
  const box = (parent, className, x, y, w, h) => w > 0 && h > 0 &&
    make("rect", { class: className, x: x.toFixed(2), y, width: w.toFixed(2), height: h }, parent);
  const path = (parent, className, d) => make("path", { class: className, d }, parent);
  const pen = document.createElement("canvas").getContext("2d");
  const widthOf = (text, font) => {
    pen.font = font + " " + getComputedStyle(document.body).fontFamily;
    return pen.measureText(text).width;
  };

  // How each look is drawn. y is the middle of the lane.
  const bars = {
    wait: (g, x, y, w) => box(g, "tl-wait", x, y - .8, w, 1.6),
    try: (g, x, y, w) => box(g, "tl-try", x, y - 4, w, 8),
    busy: (g, x, y, w) => box(g, "tl-busy", x, y - 4, w, 8),
    hold: (g, x, y, w) => box(g, "tl-hold", x, y - 9, w, 20),
    shared: (g, x, y, w) => box(g, "tl-shared", x, y - 9, w, 20),
    gone: (g, x, y, w, stripes) => {
      box(g, "tl-striped", x, y - 9, w, 20);
      box(g, "", x, y - 9, w, 20).setAttribute("fill", stripes("stripes"));
      box(g, "tl-frame", x, y - 9, w, 20);
    },
    unknown: (g, x, y, w, stripes) => {
      box(g, "tl-unknown", x, y - 9, w, 20);
      box(g, "", x, y - 9, w, 20).setAttribute("fill", stripes("doubt"));
    },
    key: (g, x, y, w) => box(g, "tl-key", x, y - 5, w, 14),
    ever: (g, x, y, w) => { box(g, "tl-key", x, y - 5, w, 14); box(g, "tl-frame", x, y - 5, w, 14); },
    fault: (g, x, y, w) => { box(g, "tl-fault", x, y - 8, w, 16); box(g, "tl-solid", x, y - 8, 2, 16); },
    found: (g, x, y, w) => box(g, "tl-found", x, y - 8, w, 16),
    other: (g, x, y, w) => { box(g, "tl-other", x, y - 8, w, 16); box(g, "tl-found", x, y - 8, 1.5, 16); },
  };
  const stem = (g, x, y, tall) => tall && path(g, "tl-line", `M${x},${y - 10}V${y + 9}`);
  const cross = (g, className, x, y, r) => path(g, className, `M${x - r},${y - r}l${2 * r},${2 * r}m0,${-2 * r}l${-2 * r},${2 * r}`);
  // tall: in a lane, not in a legend.
  const marks = {
    read: (g, x, y, tall) => make("circle", { class: "tl-ring", cx: x, cy: tall ? y - 14 : y, r: 2.6 }, g),
    write: (g, x, y, tall) => make("circle", { class: "tl-solid", cx: x, cy: tall ? y - 14 : y, r: 3.2 }, g),
    lost: (g, x, y, tall) => path(g, "tl-doubt", `M${x - 5},${(tall ? y - 14 : y) - 4}h10l-5,8z`),
    crash: (g, x, y) => cross(g, "tl-cross", x, y, 5),
    set: (g, x, y, tall) => { path(g, "tl-solid", `M${x - 4},${(tall ? y - 11 : y) - 3.5}h8l-4,7z`); stem(g, x, y, tall); },
    renewed: (g, x, y, tall) => { path(g, "tl-line", `M${x - 4},${tall ? y - 8 : y + 2}l4,-5l4,5`); stem(g, x, y, tall); },
    deleted: (g, x, y, tall) => { cross(g, "tl-line", x, tall ? y - 11 : y, 3.5); stem(g, x, y, tall); },
    expired: (g, x, y, tall) => make("circle", { class: "tl-ring", cx: x, cy: tall ? y + 2 : y, r: 4, style: "--ink-of:var(--ink)" }, g),
    removed: (g, x, y, tall) => cross(g, "tl-cross", x, tall ? y + 2 : y, 5),
    event: (g, x, y, tall) => path(g, "tl-event", tall ? `M${x},${y - 13}v26` : `M${x},${y - 6}v12`),
  };
  const tops = { crash: -7, expired: -5, removed: -5, event: -7 }; // of marks that do not stand at the lane's top
  const grounds = { // the legend's other entries
    dead: (g, x, y, w) => { box(g, "tl-dead", x, y - 6, w, 12); path(g, "tl-deadline", `M${x},${y}h${w}`); },
    foreign: (g, x, y, w) => cross(g, "tl-cross", x + w / 2, y, 3.5),
    shade: (g, x, y, w, stripes) => { box(g, "tl-shade", x, y - 6, w, 12); box(g, "", x, y - 6, w, 12).setAttribute("fill", stripes("shade")); },
    harm: (g, x, y, w) => { box(g, "tl-harm", x, y - 6, w, 12); path(g, "tl-edge", `M${x},${y - 6}v12m${w},-12v12`); },
  };

  // A number of patterns per picture: hatching in a colour, or stripes of a hold.
  const patterns = (svg, id) => {
    const defs = make("defs", {}, svg), known = {};
    return (kind, ink) => {
      const name = id + "-" + kind + (ink || "").replace(/\W/g, "");
      if (!known[name]) {
        known[name] = true;
        const color = kind === "doubt" ? "var(--doubt)" : ink || "var(--muted)";
        const upright = kind === "stripes";
        const p = make("pattern", { id: name, width: 5, height: 6, patternUnits: "userSpaceOnUse", patternTransform: upright ? "" : "rotate(45)" }, defs);
        make("path", { d: "M1,0v6", style: `stroke:${color};stroke-width:${upright ? 2 : .8};stroke-opacity:${kind === "shade" ? .45 : kind === "doubt" ? .6 : 1}` }, p);
      }
      return `url(#${name})`;
    };
  };

  return { make, html, box, path, widthOf, bars, marks, tops, grounds, patterns };
})();

