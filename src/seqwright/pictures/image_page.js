"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const weights = bytes(data.weights), rollout = bytes(data.rollout);
const [rows, columns] = data.grid, [high, wide] = data.pixels, before = data.before.length;
const INK = [[255, 255, 255], [122, 181, 223], [56, 104, 151], [33, 35, 44]];
const MEAN = -1;
let kept = null, shown = data.mean ? MEAN : 0, place = null;
const picture = new Image();
const byId = (name) => document.getElementById(name);

function coloured(share) {
  const at = Math.min(share, 0.9999) * (INK.length - 1), low = Math.floor(at), part = at - low;
  const [red, green, blue] = INK[low].map((value, i) => Math.round(value + part * (INK[low + 1][i] - value)));
  return `rgba(${red},${green},${blue},${0.15 + 0.8 * Math.pow(share, 0.7)})`;
}

function sized(canvas, width) {
  const dense = window.devicePixelRatio || 1, height = Math.round(width * high / wide);
  canvas.width = width * dense; canvas.height = height * dense;
  canvas.style.width = `${width}px`; canvas.style.height = `${height}px`;
}

function drawn(canvas, shares) {
  const pen = canvas.getContext("2d"), scale = canvas.width / wide;
  pen.imageSmoothingEnabled = false;
  pen.fillStyle = "#fff"; pen.fillRect(0, 0, canvas.width, canvas.height);
  if (!shares) { pen.drawImage(picture, 0, 0, canvas.width, canvas.height); return; }
  pen.globalAlpha = 0.32; pen.filter = "grayscale(1)";
  pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
  pen.globalAlpha = 1; pen.filter = "none";
  const top = Math.max(...shares, 1e-9), [down, along] = data.patch;
  shares.forEach((share, number) => {
    pen.fillStyle = coloured(share / top);
    pen.fillRect(number % columns * along * scale, Math.floor(number / columns) * down * scale,
      along * scale + 0.5, down * scale + 0.5);
  });
}

function sharesIn(matrix, first) {
  const vectors = data.vectors, read = (vector) => {
    const start = first + vector * vectors + before;
    return matrix.subarray(start, start + rows * columns);
  };
  if (shown !== MEAN) return Array.from(read(shown));
  const sum = new Array(rows * columns).fill(0);
  for (let patch = 0; patch < rows * columns; patch++) read(before + patch).forEach((share, i) => { sum[i] += share; });
  return sum;
}

function name() {
  if (shown === MEAN) return "the mean of all patches";
  if (shown < before) return data.before[shown];
  const number = shown - before;
  return `the patch of row ${Math.floor(number / columns) + 1}, column ${number % columns + 1}`;
}

function refresh() {
  const square = data.vectors * data.vectors;
  maps.forEach((canvas, number) => drawn(canvas, sharesIn(weights, number * square)));
  drawn(byId("rollout"), sharesIn(rollout, 0));
  drawn(byId("image"), null);
  if (shown >= before) {
    const canvas = byId("image"), pen = canvas.getContext("2d"), scale = canvas.width / wide, number = shown - before;
    pen.strokeStyle = "#d8590a"; pen.lineWidth = 2 * (window.devicePixelRatio || 1);
    pen.strokeRect(number % columns * data.patch[1] * scale, Math.floor(number / columns) * data.patch[0] * scale,
      data.patch[1] * scale, data.patch[0] * scale);
  }
  byId("told").textContent = name() + (kept === null ? "" : " (kept)");
  for (const button of byId("readers").children) button.setAttribute("aria-pressed", String(+button.value === shown));
}

function show(vector) { if (vector !== shown) { shown = vector; refresh(); } }

function under(event) {
  const box = byId("image").getBoundingClientRect();
  const row = Math.floor((event.clientY - box.top) / box.height * high / data.patch[0]);
  const column = Math.floor((event.clientX - box.left) / box.width * wide / data.patch[1]);
  return before + Math.min(rows - 1, Math.max(0, row)) * columns + Math.min(columns - 1, Math.max(0, column));
}

function keep(vector) { kept = kept === vector ? null : vector; show(vector); refresh(); }

function walk(event) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (event.key === "Enter") { keep(shown); return; }
  if (event.key === "Escape") { kept = null; show(data.mean ? MEAN : 0); refresh(); return; }
  if (!(event.key in steps)) return;
  event.preventDefault();
  const [down, along] = steps[event.key];
  place = place ? [(place[0] + down + rows) % rows, (place[1] + along + columns) % columns] : [0, 0];
  kept = null;
  show(before + place[0] * columns + place[1]);
}

function readers() {
  const every = [...data.before.map((label, number) => [label, number])];
  if (data.mean) every.unshift(["mean of all patches", MEAN]);
  for (const [label, vector] of every) {
    const button = document.createElement("button");
    button.type = "button"; button.value = vector; button.textContent = label;
    button.addEventListener("click", () => { kept = null; show(vector); refresh(); });
    byId("readers").append(button);
  }
}

const maps = [];
function heads() {
  const grid = byId("heads"), side = Math.max(56, Math.min(120, Math.floor(860 / data.heads) - 6));
  const cell = (text) => { const span = document.createElement("span"); span.textContent = text; grid.append(span); };
  grid.style.gridTemplateColumns = `max-content repeat(${data.heads}, max-content)`;
  cell("");
  for (let head = 1; head <= data.heads; head++) cell(data.together ? "mean of the heads" : `head ${head}`);
  for (let layer = 1; layer <= data.layers; layer++) {
    cell(`layer ${layer}`);
    for (let head = 1; head <= data.heads; head++) {
      const canvas = document.createElement("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `layer ${layer}, head ${head}`);
      sized(canvas, side); maps.push(canvas); grid.append(canvas);
    }
  }
}

picture.addEventListener("load", () => {
  document.querySelector("main").hidden = false;
  sized(byId("image"), 280); sized(byId("rollout"), 280);
  readers(); heads(); refresh();
  byId("image").addEventListener("mousemove", (event) => { if (kept === null) show(under(event)); });
  byId("image").addEventListener("mouseleave", () => { if (kept === null) show(data.mean ? MEAN : 0); });
  byId("image").addEventListener("click", (event) => keep(under(event)));
  byId("image").addEventListener("keydown", walk);
});
picture.src = data.image;
