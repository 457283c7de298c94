// Returns each visible text that has too little contrast with its background. For text in a
// picture, the background is the text's halo on the shape below the middle of the text.
(least => {
  const channels = text => {
    if (text.startsWith("url(")) return { r: 0, g: 0, b: 0, a: 0 }; // a hatching: most of the background stays visible
    const numbers = (text.match(/[\d.]+/g) || []).map(Number);
    if (text.startsWith("color(srgb ")) for (const i of [0, 1, 2]) numbers[i] *= 255;
    return { r: numbers[0] || 0, g: numbers[1] || 0, b: numbers[2] || 0, a: numbers.length > 3 ? numbers[3] : text === "transparent" || text === "none" ? 0 : 1 };
  };
  const over = (top, below) => ({
    r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a), b: top.b * top.a + below.b * (1 - top.a), a: 1,
  });
  const light = c => {
    const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(c.r) + 0.7152 * part(c.g) + 0.0722 * part(c.b);
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const behind = element => {
    const layers = [];
    for (let x = element; x; x = x.parentElement) layers.push(channels(getComputedStyle(x).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), { r: 255, g: 255, b: 255, a: 1 });
  };
  const fill = shape => {
    const style = getComputedStyle(shape), c = channels(style.fill);
    c.a *= Number(style.fillOpacity) * Number(style.opacity);
    return c;
  };
  const shapeBelow = (svg, text) => {
    const box = text.getBoundingClientRect(), x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
    let color = behind(svg);
    for (const shape of svg.querySelectorAll("rect, path, circle, polygon")) {
      if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING) || shape.closest("defs, pattern, clipPath, marker")) continue;
      const point = new DOMPoint(x, y).matrixTransform(shape.getScreenCTM().inverse());
      if (shape.isPointInFill(point)) color = over(fill(shape), color);
    }
    return color;
  };
  const bad = new Map();
  const note = (element, ink, paper) => {
    const r = ratio(over(ink, paper), paper);
    if (r >= least) return;
    const key = `${element.closest("[class]")?.getAttribute("class")}: ${JSON.stringify(ink)} on ${JSON.stringify(paper)}`;
    if (!bad.has(key)) bad.set(key, `${r.toFixed(2)}:1 "${element.textContent.trim().slice(0, 40)}" (${key})`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("script, style, .unseen, svg title, svg desc, option, datalist")) continue;
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    count++;
    const svg = element.closest("svg");
    const style = getComputedStyle(element);
    const halo = style.paintOrder.startsWith("stroke") && parseFloat(style.strokeWidth) >= 2 ? channels(style.stroke) : { a: 0, r: 0, g: 0, b: 0 };
    if (svg) note(element, fill(element), over(halo, shapeBelow(svg, element)));
    else note(element, channels(getComputedStyle(element).color), behind(element));
  }
  for (const field of document.querySelectorAll("input")) note(field, channels(getComputedStyle(field, "::placeholder").color), behind(field));
  return { count, bad: [...bad.values()] };
})(4.5)
