// State of the page: a text, its corrections and its links.

import * as address from "./address.js";
import * as api from "./api.js";
import { answerOf, make, makeButton, samePlace, setLabels } from "./dom.js";
import * as graph from "./graph.js";
import * as panel from "./panel.js";
import * as sheet from "./sheet.js";

const TYPING_PAUSE = 300;  // milliseconds without a key before the text is linked
const $ = (id) => document.getElementById(id);
const field = $("text"), status = $("status"), changes = $("changes");

let text = "";
let fixed = [];  // {start, end, entity}; entity null: NIL
let links = [];
let free = { text: null, links: [] };  // without corrections
let opened = null;  // {start, end}
let pending = null, timer = 0;
let maxReasonsLength = 20_000;  // characters; replaced by the limit of the service

const withReasons = () => Array.from(text).length <= maxReasonsLength;
const freeOf = (link) => free.links.find((other) => samePlace(other, link)) ?? null;

/** Link the current text; an older request is aborted. */
async function run() {
  pending?.abort();
  clearTimeout(timer);
  const request = pending = new AbortController();
  if (!text.trim()) { empty(); return; }
  const slow = setTimeout(() => { status.textContent = "linking …"; }, 200);
  try {
    const sent = { text, fixed }, reasons = withReasons();
    const old = free.text === text || !fixed.length ? null : api.link(text, [], reasons, request.signal);
    const [now, before] = await Promise.all([api.link(text, fixed, reasons, request.signal), old]);
    if (request !== pending) return;
    if (!sent.fixed.length) free = { text, links: now.links };
    else if (before) free = { text, links: before.links };
    links = now.links;
    draw();
    const many = links.length === 1 ? "1 name" : `${links.length} names`;
    status.textContent = links.length ? `${many} in ${Math.max(1, Math.round(now.milliseconds ?? 0))} ms` : "no names found";
    remember();
  } catch (error) {
    if (request !== pending || error.name === "AbortError") return;
    if (error.status === 422 && fixed.length) {  // an address made with another knowledge base
      fixed = [];
      await run();
      status.textContent += "; the corrections do not fit this knowledge base";
      return;
    }
    status.textContent = error.status ? error.message : "The service does not respond. Try again in a moment.";
    status.classList.add("failed");
    sheet.dim(true);
    return;
  } finally {
    clearTimeout(slow);
  }
  status.classList.remove("failed");
  sheet.dim(false);
}

function draw() {
  const before = links.map((link) => {
    const other = fixed.length && !link.fixed ? freeOf(link) : null;
    return other && other.entity !== link.entity ? other : null;
  });
  sheet.draw(text, links, before, open);
  graph.draw(links, open);
  showChanges(before);
  showOpened();
  for (const id of ["copy", "download"]) $(id).disabled = !text;
}

function showOpened() {
  const link = links.find((other) => samePlace(other, opened));
  if (!link) {
    opened = null;
    panel.hint();
  } else {
    const place = links.indexOf(link);
    const supported = links.filter((other) => other.reasons.some((reason) => reason.mention === place && reason.value > 0));
    panel.show(link, supported, fixed.length ? freeOf(link) : null, withReasons(), {
      choose: (entity) => correct(link, entity),
      release: () => release(link),
      close: () => close(true),
    });
  }
  sheet.connect(links, opened);
  graph.mark(links, opened);
}

function showChanges(before) {
  if (!fixed.length) { changes.replaceChildren(); return; }
  const count = fixed.length === 1 ? "1 correction" : `${fixed.length} corrections`;
  const moved = links.map((link, place) => [link, before[place], place]).filter(([, other]) => other);
  const effect = moved.length === 0 ? "; no other name changed" : moved.length === 1 ? "; 1 other name changed:" : `; ${moved.length} other names changed:`;
  const list = make("ul");
  for (const [link, other, place] of moved) {
    const button = makeButton("plain", link.text, () => open(place, true));
    list.append(make("li", "", button, " ", make("s", "", answerOf(other)), " → ", make("b", "", answerOf(link))));
  }
  const undo = makeButton("quiet", "Undo all", async () => {
    fixed = [];
    await run();
    sheet.focusOn(links, opened ?? links[0]);
  });
  changes.replaceChildren(make("div", "row", make("p", "", count + effect), undo), list);
}

function open(place, keyboard) {
  opened = { start: links[place].start, end: links[place].end };
  showOpened();
  sheet.reveal();
  if (keyboard) panel.focus();
}

function close(keyboard) {
  const last = opened;
  opened = null;
  showOpened();
  if (keyboard) sheet.focusOn(links, last);
}

async function correct(link, entity) {
  const { start, end } = link;
  if (link.entity === entity && link.fixed) return;
  fixed = fixed.filter((other) => other.end <= start || end <= other.start);
  fixed.push({ start, end, entity });
  fixed.sort((a, b) => a.start - b.start);
  await run();
  panel.focus();
}

async function release(link) {
  fixed = fixed.filter((other) => !samePlace(other, link));
  await run();
  panel.focus();
}

/** Keep the corrections before and after the edited part. */
function edit(to) {
  const old = Array.from(text), now = Array.from(to);
  const most = Math.min(old.length, now.length);
  let head = 0, tail = 0;
  while (head < most && old[head] === now[head]) head++;
  while (tail < most - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const shift = now.length - old.length;
  const moved = (span) => {
    if (span.end <= head) return span;
    if (span.start >= old.length - tail) return { ...span, start: span.start + shift, end: span.end + shift };
    return null;
  };
  fixed = fixed.map(moved).filter((span) => span !== null);
  opened = opened && moved(opened);
  text = to;
}

function empty() {
  links = [];
  fixed = [];
  opened = null;
  free = { text: null, links: [] };
  draw();
  sheet.clear();
  sheet.dim(false);
  status.classList.remove("failed");
  status.textContent = "";
  remember();
}

function remember() {
  const hash = address.write(text, fixed);
  const here = location.pathname + location.search;
  history.replaceState(null, "", hash === null ? here : here + hash);
  $("copy").disabled = !hash;
  $("copy").title = hash === null ? "The text is too long for a link" : "";
}

function start(given) {
  text = given.text;
  fixed = given.fixed;
  opened = null;
  field.value = text;
  return run();
}

async function copy() {
  try {
    await navigator.clipboard.writeText(location.href);
    status.textContent = "link copied";
  } catch {
    status.textContent = "copy the link from the address bar";
  }
}

function download() {
  const data = JSON.stringify({ text, fixed, links }, null, 2);
  const anchor = make("a");
  anchor.href = URL.createObjectURL(new Blob([data], { type: "application/json" }));
  anchor.download = "links.json";
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
}

function theme() {
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const update = () => { $("theme-label").textContent = dark() ? "Light theme" : "Dark theme"; };
  $("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("sgtb-theme", root.dataset.theme); } catch { /* not stored */ }
    update();
  });
  system.addEventListener("change", update);
  update();
}

async function showKnowledgeBase() {
  try {
    const kb = await api.knowledgeBase();
    maxReasonsLength = kb.limits?.max_reasons_characters ?? maxReasonsLength;
    setLabels(kb.feature_labels ?? {});
    const count = (value) => Number(value).toLocaleString("en");
    $("kb").textContent = `${count(kb.entities)} entities, ${count(kb.names)} names`;
    return kb.examples ?? [];
  } catch {
    return [];  // optional
  }
}

/** Offer the examples of the knowledge base, and link the text of the address or the first example. */
async function begin() {
  const examples = await showKnowledgeBase();
  for (const { name, text: words } of examples) {
    $("examples").append(makeButton("chip", name, () => start({ text: words, fixed: [] })));
  }
  $("examples").hidden = !examples.length;
  if (!field.value) start(address.read(location.hash) ?? { text: examples[0]?.text ?? "", fixed: [] });
}

field.addEventListener("input", () => {
  edit(field.value.toWellFormed?.() ?? field.value);
  pending?.abort();
  clearTimeout(timer);
  sheet.dim(true);
  timer = setTimeout(run, TYPING_PAUSE);
});
$("clear").addEventListener("click", () => { start({ text: "", fixed: [] }); field.focus(); });
$("copy").addEventListener("click", copy);
$("download").addEventListener("click", download);
$("skip").addEventListener("click", (event) => { event.preventDefault(); $("sheet").querySelector(".m")?.focus(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && opened && event.target !== field) close(true);
});
addEventListener("hashchange", () => { const given = address.read(location.hash); if (given) start(given); });
new ResizeObserver(() => sheet.connect(links, opened)).observe($("sheet"));
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  graph.draw(links, open);
  graph.mark(links, opened);
});

theme();
panel.hint();
begin();
