"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const made = (tag, text, into) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (into) into.append(element);
  return element;
};
const state = { kind: Object.keys(data)[0], layer: "mean", heads: [], chosen: null, kept: false };
let weights = [];  // the chosen map, rows x columns, between 0 and 1
let lines = [];  // the same of each chosen head by itself
let ceiling = 1;

const range = count => [...Array(count).keys()];
const visible = word => word.replaceAll("\n", "\u21b5").replaceAll("\t", "\u21e5").replace(/^ *$/, "\u2423");

function weightsOf(kind, layer, heads) {
  const layers = layer === "mean" ? range(kind.layers) : [Number(layer)];
  const width = kind.columns.length, size = kind.rows.length * width;
  const sum = new Float64Array(size);
  for (const l of layers) for (const h of heads) {
    const from = (l * kind.heads + h) * size;
    for (let i = 0; i < size; i++) sum[i] += kind.weights[from + i];
  }
  const share = 1000 * layers.length * heads.length;
  return range(kind.rows.length).map(row => Array.from(sum.subarray(row * width, (row + 1) * width), w => w / share));
}

// The same rule as in the saved pictures: comparable, readable when faint, and uniform attention is never dark.
function ceilingOf(map) {
  let peak = 2 / map[0].length;
  for (const row of map) for (const weight of row) peak = Math.max(peak, weight);
  return [0.25, 0.5].find(top => peak <= top) || 1;
}

function shade(element, weight, top) {
  const share = weight === null ? 0 : Math.min(1, Math.max(0, weight / top));
  element.style.background = weight === null ? "" : `rgb(var(--ink) / ${share.toFixed(3)})`;
  element.classList.toggle("strong", share > 0.55);
}

function fillLayers(count) {
  const select = at("layer");
  select.replaceChildren();
  if (count > 1) made("option", "mean of all layers", select).value = "mean";
  for (const number of range(count)) made("option", String(number + 1), select).value = String(number);
  select.parentElement.hidden = count === 1;
}

function headButtons(kind) {
  const group = at("head");
  group.replaceChildren();
  at("choose-heads").hidden = kind.heads === 1;
  for (const head of range(kind.heads)) {
    const button = made("button", String(head + 1), group);
    button.type = "button";
    button.style.setProperty("--head", kind.colours[head]);
    button.setAttribute("aria-label", `head ${head + 1}`);
    button.addEventListener("click", () => {
      const others = state.heads.filter(other => other !== head);
      chooseHeads(others.length < state.heads.length ? others : [...others, head].sort((a, b) => a - b));
    });
    button.addEventListener("dblclick", () => chooseHeads([head]));
  }
}

// No head is no picture: whoever lets go of the last one sees all again.
function chooseHeads(heads) {
  const kind = data[state.kind];
  state.heads = heads.length ? heads : range(kind.heads);
  drawShades(kind);
}

function wordButtons(group, words, side) {
  group.replaceChildren();
  words.forEach((word, place) => {
    const button = made("button", visible(word), group);
    button.type = "button";
    button.dir = "auto";
    button.tabIndex = place === 0 ? 0 : -1;
    button.setAttribute("aria-pressed", "false");
    const here = { side, place };
    button.addEventListener("mouseenter", () => state.kept || choose(here));
    button.addEventListener("mouseleave", () => state.kept || choose(null));
    button.addEventListener("focus", () => state.kept || choose(here));
    button.addEventListener("click", () => keep(here));
    button.addEventListener("keydown", event => walk(event, group, place));
  });
}

function walk(event, group, place) {
  if (event.key === "Escape") { state.kept = false; choose(null); return; }
  const last = group.children.length - 1;
  const next = { ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1,
    Home: 0, End: last }[event.key];
  if (next === undefined || next < 0 || next > last) return;
  event.preventDefault();
  group.children[place].tabIndex = -1;
  group.children[next].tabIndex = 0;
  group.children[next].focus();
}

const same = (one, other) => one && other && one.side === other.side && one.place === other.place;

function keep(here) {
  state.kept = !(state.kept && same(state.chosen, here));
  choose(here);
}

function choose(here) {
  state.chosen = here;
  const kind = data[state.kind];
  for (const side of ["rows", "columns"]) {
    const chosen = here && here.side === side ? here.place : -1;
    const shaded = here && here.side !== side;
    const shades = !shaded ? null : side === "columns" ? weights[here.place] : weights.map(row => row[here.place]);
    [...at(side).children].forEach((button, place) => {
      button.classList.toggle("chosen", place === chosen);
      button.setAttribute("aria-pressed", String(place === chosen && state.kept));
      shade(button, shades && shades[place], ceiling);
    });
  }
  const [row, column] = ["rows", "columns"].map(side => here && here.side === side ? here.place : -1);
  const [heading, body] = [at("map").tHead.rows[0], at("map").tBodies[0]];
  [...heading.cells].forEach((cell, place) => cell.classList.toggle("chosen", place > 0 && place === column + 1));
  [...body.rows].forEach((line, place) => {
    line.classList.toggle("chosen", place === row);
    line.cells[0].classList.toggle("chosen", place === row);
  });
  at("told").textContent = told(here, kind);
  drawLines(kind);
}

// A line for every weight of every chosen head, or of the chosen word; heads stay apart at the height of a word.
function drawLines(kind) {
  const canvas = at("lines"), scale = window.devicePixelRatio || 1, { width, height } = canvas.getBoundingClientRect();
  [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
  const brush = canvas.getContext("2d"), here = state.chosen, box = canvas.getBoundingClientRect();
  const middles = side => [...at(side).children].map(button => {
    const place = button.getBoundingClientRect();
    return [place.top + place.height / 2 - box.top, place.height * 0.6];
  });
  const [rows, columns] = [middles("rows"), middles("columns")];
  brush.scale(scale, scale);
  brush.lineWidth = here ? 2 : 1.5;
  state.heads.forEach((head, order) => {
    const shift = (order + 0.5) / state.heads.length - 0.5;
    brush.strokeStyle = kind.colours[head];
    lines[order].forEach((line, row) => line.forEach((weight, column) => {
      if (weight < 0.02 || here && (here.side === "rows" ? row : column) !== here.place) return;
      brush.globalAlpha = Math.min(1, weight);
      brush.beginPath();
      brush.moveTo(0, rows[row][0] + shift * rows[row][1]);
      brush.lineTo(width, columns[column][0] + shift * columns[column][1]);
      brush.stroke();
    }));
  });
}

function told(here, kind) {
  if (!here) return "";
  const reads = here.side === "rows";
  const shares = reads ? weights[here.place] : weights.map(row => row[here.place]);
  const [own, other] = reads ? [kind.rows, kind.columns] : [kind.columns, kind.rows];
  const best = range(shares.length).sort((a, b) => shares[b] - shares[a]).slice(0, 4).filter(i => shares[i] >= 0.005);
  const list = best.map(i => `${visible(other[i])} ${shares[i].toFixed(2)}`).join(", ");
  return `${kind.axes[here.side]} \u201c${visible(own[here.place])}\u201d: ${list || "nothing in particular"}`;
}

function drawMap(kind) {
  const table = at("map");
  table.replaceChildren();
  const heading = made("tr", undefined, made("thead", undefined, table));
  made("td", undefined, heading).style.border = "0";
  for (const word of kind.columns) {
    const cell = made("th", undefined, heading);
    cell.scope = "col";
    cell.title = word;
    // Chinese, Japanese and Korean are written downwards anyway; other scripts are turned.
    const downwards = /^[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef]+$/.test(word);
    made("span", visible(word), cell).classList.toggle("downwards", downwards);
  }
  const body = made("tbody", undefined, table);
  kind.rows.forEach((word, row) => {
    const line = made("tr", undefined, body);
    const cell = made("th", visible(word), line);
    cell.scope = "row";
    cell.title = word;
    for (const column of range(kind.columns.length)) made("td", undefined, line).dataset.place = `${row} ${column}`;
  });
}

function drawShades(kind) {
  weights = weightsOf(kind, state.layer, state.heads);
  lines = state.heads.map(head => weightsOf(kind, state.layer, [head]));
  ceiling = ceilingOf(weights);
  at("ceiling").textContent = String(ceiling);
  [...at("map").tBodies[0].rows].forEach((line, row) => weights[row].forEach((weight, column) => {
    const cell = line.cells[column + 1];
    shade(cell, weight, ceiling);
    cell.title = `${visible(kind.rows[row])} \u2192 ${visible(kind.columns[column])}: ${weight.toFixed(3)}`;
    cell.textContent = weight.toFixed(3);
  }));
  for (const button of at("heads").querySelectorAll("button"))
    button.setAttribute("aria-pressed", String(isShown(button.dataset)));
  [...at("head").children].forEach((button, head) =>
    button.setAttribute("aria-pressed", String(state.heads.includes(head))));
  choose(state.chosen);
}

const isShown = ({ layer, head }) => layer === state.layer && state.heads.length === 1 && state.heads[0] === +head;

function drawHeads(kind) {
  const grid = at("heads");
  grid.replaceChildren();
  at("overview").hidden = kind.layers * kind.heads === 1;
  grid.style.gridTemplateColumns = `max-content repeat(${kind.heads}, max-content)`;
  made("span", "", grid);
  for (const head of range(kind.heads)) made("span", `head ${head + 1}`, grid);
  for (const layer of range(kind.layers)) {
    made("span", `layer ${layer + 1}`, grid);
    for (const head of range(kind.heads)) {
      const button = made("button", undefined, grid);
      button.type = "button";
      Object.assign(button.dataset, { layer: String(layer), head: String(head) });
      button.setAttribute("aria-label", `layer ${layer + 1}, head ${head + 1}`);
      button.addEventListener("click", () => {
        at("layer").value = state.layer = String(layer);
        chooseHeads([head]);
      });
      drawSmall(made("canvas", undefined, button), weightsOf(kind, layer, [head]));
    }
  }
}

function drawSmall(canvas, map) {
  const [height, width] = [map.length, map[0].length];
  const side = Math.max(1, Math.min(14, Math.floor(76 / Math.max(height, width))));
  [canvas.width, canvas.height] = [width, height];
  canvas.style.width = `${width * side}px`;
  canvas.style.height = `${height * side}px`;
  const brush = canvas.getContext("2d");
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
  map.forEach((row, y) => row.forEach((weight, x) => {
    brush.fillStyle = `rgb(${ink} / ${weight.toFixed(3)})`;
    brush.fillRect(x, y, 1, 1);
  }));
}

function show(name) {
  const kind = data[name];
  Object.assign(state, { kind: name, chosen: null, kept: false });
  for (const tab of at("kinds").children) {
    tab.setAttribute("aria-selected", String(tab.dataset.kind === name));
    tab.tabIndex = tab.dataset.kind === name ? 0 : -1;
    if (tab.dataset.kind === name) at("panel").setAttribute("aria-labelledby", tab.id);
  }
  fillLayers(kind.layers);
  const { layer, head } = document.querySelector("main").dataset;  // what was asked for, where this kind has it
  if (+layer < kind.layers) at("layer").value = layer;
  [state.layer, state.heads] = [at("layer").value, +head < kind.heads ? [+head] : range(kind.heads)];
  headButtons(kind);
  at("rows-axis").textContent = kind.axes.rows;
  at("columns-axis").textContent = kind.axes.columns;
  wordButtons(at("rows"), kind.rows, "rows");
  wordButtons(at("columns"), kind.columns, "columns");
  drawMap(kind);
  drawHeads(kind);
  drawShades(kind);
}

Object.keys(data).forEach((name, place) => {
  const tab = made("button", data[name].caption, at("kinds"));
  Object.assign(tab, { type: "button", id: `kind-${place}` });
  tab.dataset.kind = name;
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", "panel");
  tab.addEventListener("click", () => show(name));
  tab.addEventListener("keydown", event => {
    const tabs = at("kinds").children;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(place + step + tabs.length) % tabs.length];
    show(next.dataset.kind);
    next.focus();
  });
});
at("layer").addEventListener("change", event => { state.layer = event.target.value; drawShades(data[state.kind]); });
at("all-heads").addEventListener("click", () => chooseHeads([]));
window.addEventListener("resize", () => drawLines(data[state.kind]));
at("map").addEventListener("mouseover", event => {
  const place = event.target.dataset && event.target.dataset.place;
  if (!state.kept) choose(place ? { side: "rows", place: Number(place.split(" ")[0]) } : null);
});
at("map").addEventListener("mouseleave", () => state.kept || choose(null));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  drawHeads(data[state.kind]);
  drawShades(data[state.kind]);
});
document.querySelector("main").hidden = false;
show(state.kind);
