// liveTimeline lets readers zoom into the timeline in a place, read its times, and pin what a mark tells.
// The picture tells the same without it.
function liveTimeline(place) {
  const svg = place.querySelector(".tl"), plot = svg.querySelector(".plot"), cell = place.closest("details");
  const marks = [...plot.querySelectorAll(".m")], width = plot.width.baseVal.value;
  const make = (name, parent, properties) => {
    const e = Object.assign(document.createElement(name), properties);
    parent.append(e);
    return e;
  };
  const tools = make("div", place, { className: "timeline-tools" }), frame = svg.parentNode;
  const told = make("div", place, { className: "timeline-told", role: "status" });
  place.prepend(tools);
  told.before(document.getElementById("tl-legend").content.cloneNode(true));
  for (const e of place.querySelectorAll("[data-look]")) e.hidden = !svg.querySelector(`.tl-${e.dataset.look}, [href="#tl-${e.dataset.look}"]`);
  svg.setAttribute("tabindex", 0);

  // Zoom: what has a place in the plot moves, and the rest stays as large as it is.
  const places = [...plot.querySelectorAll(":not(.at *)")].flatMap(e => ["x", "x1", "x2", "width"].filter(a => e.hasAttribute(a)).map(a => [e, a, Number(e.getAttribute(a))]));
  let scale = 1, left = 0;
  const show = (k, from) => {
    scale = Math.min(Math.max(k, 1), 1000);
    left = Math.min(Math.max(from, 0), width * (scale - 1));
    for (const [e, a, at] of places) e.setAttribute(a, a === "width" ? Math.max(at, (e.dataset.width || at) * scale) : at * scale - left);
    svg.classList.toggle("zoomed", scale > 1);
  };
  const zoom = (factor, at = width / 2) => show(scale * factor, (at + left) * factor - at);
  const middle = m => {
    const box = m.getBoundingClientRect();
    return placeOf((box.left + box.right) / 2);
  };
  const placeOf = clientX => new DOMPoint(clientX, 0).matrixTransform(plot.getScreenCTM().inverse()).x;
  const act = { "+": () => zoom(2), "−": () => zoom(1 / 2), reset: () => show(1, 0) };
  const titles = { "+": "zoom in", "−": "zoom out", reset: "show the whole picture" };
  for (const name in act) make("button", tools, { type: "button", textContent: name, title: titles[name], ariaLabel: titles[name], onclick: act[name] });
  const clock = make("output", tools, {});
  svg.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey) return; // a pinch on a touchpad has ctrlKey, too
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 200), placeOf(event.clientX));
  }, { passive: false });

  // The time under the pointer, and panning.
  const knots = plot.dataset.knots.split(",").map(knot => knot.split(" ").map(Number));
  let dragged = 0, down = false;
  svg.addEventListener("pointerdown", event => { dragged = 0; down = event.pointerType === "mouse"; });
  addEventListener("pointerup", () => { down = false; });
  svg.addEventListener("pointermove", event => {
    if (down && scale > 1) {
      dragged += Math.abs(event.movementX);
      show(scale, left - event.movementX);
    }
    const x = (placeOf(event.clientX) + left) / scale, i = Math.max(1, knots.findIndex(([end]) => x <= end));
    const [[x0, t0], [x1, t1]] = [knots[i - 1], knots[i]];
    clock.value = x < 0 || x > width ? "" : ((t0 + (t1 - t0) * (x - x0) / (x1 - x0)) / 1e6).toFixed(6) + " s";
  });

  // What a mark tells.
  const hint = "Point at a mark to read it; a click or Enter pins it. Arrow keys lead from mark to mark; Ctrl and wheel, + − 0 zoom; drag pans.";
  let pinned = -1;
  const tell = n => {
    told.textContent = n < 0 ? hint : marks[n].querySelector("title").textContent + "\n";
    if (n < 0 || n !== pinned) return;
    make("a", told, { href: `#${cell.id}/${n}`, textContent: "link to this mark" });
    told.append(" ");
    make("button", told, { type: "button", textContent: "unpin", onclick: () => pin(-1) });
  };
  const pin = n => {
    pinned = n;
    marks.forEach((m, i) => m.classList.toggle("pinned", i === n));
    history.replaceState(null, "", "#" + cell.id + (n < 0 ? "" : "/" + n));
    tell(n);
  };
  const follow = () => {
    const [id, n] = decodeURIComponent(location.hash.slice(1)).split("/");
    if (id === cell.id && marks[n]) pin(Number(n));
  };
  addEventListener("hashchange", follow);
  const steps = [...cell.querySelectorAll(".steps li")], numbers = marks.filter(m => m.matches(".tl-step"));
  numbers.forEach((m, i) => { // the story has the text of a step
    m.prepend(document.createElementNS(svg.namespaceURI, "title"));
    m.firstChild.textContent = `${i + 1}. ${steps[i] ? steps[i].textContent.trim() : ""}`;
  });
  const light = (i, on) => { for (const e of [steps[i], numbers[i]]) if (e) e.classList.toggle("lit", on); };
  steps.forEach((li, i) => { for (const type of ["enter", "leave"]) li.addEventListener("pointer" + type, () => light(i, type === "enter")); });
  marks.forEach((m, n) => {
    m.setAttribute("tabindex", -1);
    const on = yes => () => { tell(yes ? n : pinned); light(numbers.indexOf(m), yes); };
    for (const type of ["pointerenter", "focus"]) m.addEventListener(type, on(true));
    for (const type of ["pointerleave", "blur"]) m.addEventListener(type, on(false));
    m.addEventListener("click", () => { if (dragged < 4) pin(n === pinned ? -1 : n); });
  });
  svg.addEventListener("keydown", event => {
    const n = marks.indexOf(document.activeElement), step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = n < 0 ? undefined : middle(marks[n]);
    const keys = { "+": () => zoom(2, at), "=": () => zoom(2, at), "-": () => zoom(1 / 2, at), 0: act.reset, Enter: () => pin(n === pinned ? -1 : n) };
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (step) (marks[n + step] || svg).focus({ preventScroll: true });
    else if (event.key === "Escape" && pinned >= 0) pin(-1);
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const names = svg.querySelector(".names"); // they stay in sight when a small screen scrolls
  frame.addEventListener("scroll", () => names.setAttribute("transform", `translate(${frame.scrollLeft * svg.viewBox.baseVal.width / svg.clientWidth})`));
  tell(-1);
  follow();
}
