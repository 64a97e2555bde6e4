"use strict";
// Looks numbers up in window.certiformerTables; draws the first axis, one slider per axis. Needs nothing from elsewhere.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const W = 720, H = 300, LEFT = 80, RIGHT = 34, TOP = 12, BOTTOM = 42;

  const element = (name, attributes = {}, text = "", space = null) => {
    const made = space ? document.createElementNS(space, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    // control characters are written out
    if (text) made.textContent = text.replace(/\p{C}/gu, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);
    return made;
  };
  const drawn = (name, attributes, text) => element(name, attributes, text, SVG);

  const plain = (value) =>
    value !== 0 && (Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3) ? value.toExponential().replace("e+", "e") : String(value);
  const power = (log10) => {
    if (log10 === null) return "–";
    if (log10 > 5 || log10 < -4) {
      let exponent = Math.floor(log10), digits = (10 ** (log10 - exponent)).toPrecision(3);
      if (digits === "10.0") { digits = "1.00"; exponent += 1; }
      return `${digits}·10^${exponent}`;
    }
    return String(Number((10 ** log10).toPrecision(4)));
  };

  const tick = (k) => (k > 4 || k < -3 ? `10^${k}` : String(Number((10 ** k).toPrecision(1))));

  const index = (table, at) => {
    // The first axis runs fastest, the last of the others next.
    let place = 0;
    for (let k = 1; k < table.axes.length; k++) place = place * table.axes[k].values.length + at[k];
    return place * table.axes[0].values.length + at[0];
  };

  const ticks = (low, high) => {
    const every = Math.max(1, Math.ceil((high - low) / 7)), found = [];
    for (let k = Math.ceil(low); k <= high; k++) if ((k - Math.ceil(low)) % every === 0) found.push(k);
    return found;
  };

  const range = (values) => {
    let low = Math.min(...values), high = Math.max(...values);
    if (!values.length) return [0, 1];
    if (high - low < 1) { low -= 0.5; high += 0.5; }
    const margin = 0.05 * (high - low);
    return [low - margin, high + margin];
  };

  function draw(table, at, all) {
    const xs = table.axes[0].values.map(Math.log10), [low, high] = all;
    const across = (x) => LEFT + (W - LEFT - RIGHT) * (x - xs[0]) / (xs[xs.length - 1] - xs[0]);
    const down = (y) => H - BOTTOM - (H - TOP - BOTTOM) * (y - low) / (high - low);
    const picture = drawn("svg", { class: "curves", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${table.quantity} against ${table.axes[0].name}` });
    for (const k of ticks(xs[0], xs[xs.length - 1])) {
      picture.append(drawn("line", { class: "grid", x1: across(k), x2: across(k), y1: TOP, y2: H - BOTTOM }));
      picture.append(drawn("text", { x: across(k), y: H - BOTTOM + 17, "text-anchor": "middle" }, tick(k)));
    }
    for (const k of ticks(low, high)) {
      picture.append(drawn("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: down(k), y2: down(k) }));
      picture.append(drawn("text", { x: LEFT - 8, y: down(k) + 4, "text-anchor": "end" }, tick(k)));
    }
    picture.append(drawn("text", { class: "axis", x: (LEFT + W - RIGHT) / 2, y: H - 4, "text-anchor": "middle" }, table.axes[0].name));
    for (const side of ["printed", "sound"]) {
      let run = [];
      const close = () => {
        if (run.length > 1) picture.append(drawn("polyline", { class: `${side} colour0`, points: run.join(" ") }));
        run = [];
      };
      xs.forEach((x, k) => {
        const y = table[side][index(table, [k, ...at.slice(1)])];
        if (y === null) close(); else run.push(`${across(x).toFixed(1)},${down(y).toFixed(1)}`);
      });
      close();
      const here = table[side][index(table, at)];
      if (here !== null) picture.append(drawn("circle", { class: `here ${side}`, cx: across(xs[at[0]]), cy: down(here), r: 5 }));
    }
    return picture;
  }

  function panel(section, table) {
    const at = table.axes.map((axis) => axis.start), place = section.querySelector(".panel");
    const all = range([...table.printed, ...table.sound].filter((value) => value !== null));
    const controls = element("div", { class: "controls" }), reading = element("p", { class: "reading", "aria-live": "polite" });
    const chart = element("div", { class: "chart" });
    const show = () => {
      chart.replaceChildren(draw(table, at, all));
      const here = index(table, at), variant = table.variants[table.variant[here]];
      reading.replaceChildren();
      for (const [side, words] of [["printed", "as printed"], ["sound", variant ? `sound (${variant})` : "sound: nothing applies"]]) {
        if (table[side].every((value) => value === null)) continue;
        reading.append(element("span", { class: `key ${side}` }, `${words}: `), element("output", { class: side }, power(table[side][here])), " ");
      }
      reading.append(element("span", { class: "quantity" }, `${table.quantity}`));
    };
    table.axes.forEach((axis, k) => {
      const label = element("label"), name = element("span", {}, `${axis.name} = `), value = element("output", {}, "");
      const slider = element("input", { type: "range", min: 0, max: axis.values.length - 1, step: 1, value: at[k], name: axis.name, "aria-label": `${axis.name}: ${axis.meaning}` });
      const say = () => { value.textContent = plain(axis.values[at[k]]); slider.setAttribute("aria-valuetext", value.textContent); };
      slider.addEventListener("input", () => { at[k] = Number(slider.value); say(); show(); });
      say();
      name.append(value);
      label.append(name, slider, element("small", {}, axis.meaning));
      controls.append(label);
    });
    place.replaceChildren(controls, reading, chart);
    show();
  }

  for (const section of document.querySelectorAll("section.sliders")) {
    const table = window.certiformerTables.find((one) => one.id === section.dataset.id);
    if (table) panel(section, table);
  }
})();
