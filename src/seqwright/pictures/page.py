"""One HTML file that shows where a model looked: it needs no network, no server and no other file.

Hovering over a word, or reaching it with the arrow keys, shades the words it reads (after BertViz, Vig 2019). Every
word of the user travels escaped, or inside JSON that cannot close its script element.
"""

import html
import json
from typing import Any

import numpy as np

from seqwright.pictures.attention import KINDS, AttentionMap, Looked

PRECISION = 1000  # weights travel as whole thousandths: an eighth of the size, and nobody sees the fourth digit


def attention_page(looked: Looked) -> str:
    """The whole page, ready to be written to a file."""
    parts = {
        "TITLE": _escaped(looked.title or "Attention"),
        "SOURCE": _escaped(" ".join(looked.source_words)),
        "TARGET": _target(looked),
        "STYLE": STYLE,
        "DATA": _json({name: _packed(name, kind) for name, kind in looked.maps.items()}),
        "SCRIPT": SCRIPT,
    }
    # One pass over the frame, so that a word of the user that looks like a place in it stays a word.
    pieces = FRAME.split("@@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _target(looked: Looked) -> str:
    if not looked.target_words:
        return ""
    words = _escaped(" ".join(looked.target_words))
    score = "" if looked.score is None else f'<dt>Score</dt><dd class="number">{looked.score:.4g}</dd>'
    return f'<dt>Output</dt><dd dir="auto">{words}</dd>{score}'


def _escaped(text: str) -> str:
    """Text as HTML; bytes that were never a character (a broken file name, say) become question marks."""
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))


def _packed(name: str, kind: AttentionMap) -> dict[str, Any]:
    """A map as the script reads it: its words, its sizes and its weights in a row."""
    layers, heads = kind.weights.shape[:2]
    thousandths = np.rint(kind.weights * PRECISION).astype(int).ravel().tolist()
    caption = KINDS.get(name, name)
    return {
        "caption": caption[:1].upper() + caption[1:],
        "rows": list(kind.rows),
        "columns": list(kind.columns),
        "layers": layers,
        "heads": heads,
        "weights": thousandths,
    }


def _json(value: Any) -> str:
    """JSON that may stand inside a script element: no character of it can end the element or open a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>@@TITLE@@</title>
<style>@@STYLE@@</style>
</head>
<body>
<header>
<h1 dir="auto">@@TITLE@@</h1>
<dl><dt>Input</dt><dd dir="auto">@@SOURCE@@</dd>@@TARGET@@</dl>
</header>
<noscript><p>The pictures below need JavaScript; nothing is fetched from anywhere.</p></noscript>
<main hidden>
<div class="choices">
<div role="tablist" aria-label="Kind of attention" id="kinds"></div>
<label>Layer <select id="layer"></select></label>
<label>Head <select id="head"></select></label>
</div>
<div role="tabpanel" id="panel" tabindex="-1">
<section aria-labelledby="words-heading">
<h2 id="words-heading">Words</h2>
<p class="hint">Point at a word, or walk with the arrow keys, to see what it reads;
click or press Enter to keep it, again or Escape to let go.</p>
<p class="side">These words read</p><div class="words" id="rows" role="group" aria-label="Words that read"></div>
<p class="side">these words.</p><div class="words" id="columns" role="group" aria-label="Words that are read"></div>
<p id="told" role="status" aria-live="polite"></p>
</section>
<div class="pair">
<section aria-labelledby="map-heading">
<h2 id="map-heading">Map</h2>
<div class="scroll" tabindex="0" role="region" aria-labelledby="map-heading"><table id="map"></table></div>
<p class="scale"><span>0</span><span class="ramp" aria-hidden="true"></span><span id="ceiling"></span></p>
</section>
<section aria-labelledby="heads-heading" id="overview">
<h2 id="heads-heading">All heads</h2>
<div class="scroll"><div id="heads"></div></div>
</section>
</div>
</div>
</main>
<script type="application/json" id="data">@@DATA@@</script>
<script>@@SCRIPT@@</script>
</body>
</html>
"""

STYLE = """
:root { --paper: #fff; --text: #1d2129; --quiet: #5b6472; --line: #d5dae1; --ink: 24 88 158; --on-ink: #fff;
  --accent: #b4500a; font: 16px/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --text: #e4e8ee; --quiet: #9aa4b2; --line: #333a45;
  --ink: 142 197 250; --on-ink: #0c1016; --accent: #ffb070; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; background: var(--paper); color: var(--text); }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0 0 1.2rem; }
dt, .side, .hint, .scale { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
.hint, .side, .scale { font-size: .85rem; margin: .2rem 0; }
.choices { display: flex; flex-wrap: wrap; gap: .6rem 1.4rem; align-items: center;
  border-bottom: 1px solid var(--line); }
[role=tablist] { display: flex; flex-wrap: wrap; }
[role=tab] { font: inherit; color: var(--quiet); background: none; border: 0; border-bottom: 3px solid transparent;
  padding: .4rem .8rem; cursor: pointer; }
[role=tab][aria-selected=true] { color: var(--text); border-color: rgb(var(--ink)); }
select { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: 4px;
  padding: .15rem .3rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
[role=tabpanel]:focus { outline: none; }
.words { display: flex; flex-wrap: wrap; gap: .2rem; }
.words button { font: inherit; font-size: 1.1rem; color: inherit; background: none; border: 1px solid transparent;
  border-radius: 4px; padding: .05rem .35rem; cursor: pointer; white-space: pre-wrap; overflow-wrap: anywhere; }
.words button.chosen { border-color: var(--accent); color: var(--accent); }
.words button[aria-pressed=true] { border-width: 2px; padding: calc(.05rem - 1px) calc(.35rem - 1px); }
.strong { color: var(--on-ink) !important; }
#told { min-height: 1.5em; color: var(--quiet); font-variant-numeric: tabular-nums; }
.pair { display: flex; flex-wrap: wrap; gap: 0 3rem; }
.pair section { max-width: 100%; }
.scroll { overflow-x: auto; padding: 3px; }
table { border-collapse: collapse; }
th { font-weight: 400; font-size: .9rem; white-space: pre; max-width: 14rem; }
th, th span { overflow: hidden; text-overflow: ellipsis; }
thead th { vertical-align: bottom; padding: 0 0 .3rem; }
thead th span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 12rem; }
thead th span.downwards { transform: none; }
tbody th { text-align: right; padding: 0 .5rem 0 0; position: sticky; left: 0; background: var(--paper); }
th.chosen { color: var(--accent); }
td { min-width: 1.7rem; width: 1.7rem; height: 1.7rem; padding: 0; border: 1px solid var(--line); overflow: hidden; }
td, td.strong { font-size: 1px; color: transparent !important; } /* the number is there to be copied or read aloud */
tr.chosen td { border-block: 2px solid var(--accent); }
.scale { display: flex; gap: .5rem; align-items: center; margin-top: .5rem; }
.ramp { width: 8rem; height: .7rem; border: 1px solid var(--line);
  background: linear-gradient(to right, transparent, rgb(var(--ink))); }
#heads { display: grid; gap: .5rem; width: max-content; padding: 3px; align-items: center; }
#heads span { color: var(--quiet); font-size: .8rem; text-align: center; }
#heads button { display: block; padding: 0; border: 1px solid var(--line); background: var(--paper); cursor: pointer; }
#heads button[aria-pressed=true] { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
#heads canvas { display: block; image-rendering: pixelated; }
"""

SCRIPT = r"""
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);
const made = (tag, text, into) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (into) into.append(element);
  return element;
};
const state = { kind: Object.keys(data)[0], layer: "mean", head: "mean", chosen: null, kept: false };
let weights = [];  // the chosen map, rows x columns, between 0 and 1
let ceiling = 1;

const range = count => [...Array(count).keys()];
const visible = word => word.replaceAll("\n", "\u21b5").replaceAll("\t", "\u21e5").replace(/^ *$/, "\u2423");

function weightsOf(kind, layer, head) {
  const layers = layer === "mean" ? range(kind.layers) : [Number(layer)];
  const heads = head === "mean" ? range(kind.heads) : [Number(head)];
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

function fillSelect(select, count, noun) {
  select.replaceChildren();
  if (count > 1) made("option", `mean of all ${noun}s`, select).value = "mean";
  for (const number of range(count)) made("option", String(number + 1), select).value = String(number);
  select.parentElement.hidden = count === 1;
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
}

function told(here, kind) {
  if (!here) return "";
  const reads = here.side === "rows";
  const shares = reads ? weights[here.place] : weights.map(row => row[here.place]);
  const [own, other] = reads ? [kind.rows, kind.columns] : [kind.columns, kind.rows];
  const best = range(shares.length).sort((a, b) => shares[b] - shares[a]).slice(0, 4).filter(i => shares[i] >= 0.005);
  const list = best.map(i => `${visible(other[i])} ${shares[i].toFixed(2)}`).join(", ");
  return `${visible(own[here.place])} ${reads ? "reads" : "is read by"} ${list || "nothing in particular"}`;
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
  weights = weightsOf(kind, state.layer, state.head);
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
  choose(state.chosen);
}

const isShown = ({ layer, head }) => layer === state.layer && head === state.head;

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
        [at("layer").value, at("head").value] = [state.layer, state.head] = [String(layer), String(head)];
        drawShades(kind);
      });
      drawSmall(made("canvas", undefined, button), weightsOf(kind, layer, head));
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
  fillSelect(at("layer"), kind.layers, "layer");
  fillSelect(at("head"), kind.heads, "head");
  [state.layer, state.head] = [at("layer").value, at("head").value];
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
for (const which of ["layer", "head"])
  at(which).addEventListener("change", event => { state[which] = event.target.value; drawShades(data[state.kind]); });
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
"""
