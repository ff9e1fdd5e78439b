// The page's state: a text, what was corrected in it, and what the service made of both.

import * as address from "./address.js";
import * as api from "./api.js";
import { answerOf, make, makeButton, samePlace, tiesOf } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import * as graph from "./graph.js";
import * as panel from "./panel.js";
import * as sheet from "./sheet.js";

const PAUSE = 300;  // milliseconds without a key after which typing has stopped
const $ = (id) => document.getElementById(id);
const field = $("text"), status = $("status"), changes = $("changes");

let text = "";
let fixed = [];  // {start, end, entity}; entity null: none of the knowledge base
let links = [];
let free = { text: null, links: [] };  // what the text is without corrections
let opened = null;  // {start, end}
let asking = null, timer = 0;
let longestWithReasons = 20_000;  // characters; the service says so itself

const withReasons = () => Array.from(text).length <= longestWithReasons;
const freeOf = (link) => free.links.find((other) => samePlace(other, link)) ?? null;

/** Ask for the links of the text as it is now; an older question is dropped. */
async function run() {
  asking?.abort();
  clearTimeout(timer);
  const question = asking = new AbortController();
  if (!text.trim()) { empty(); return; }
  const slow = setTimeout(() => { status.textContent = "linking …"; }, 200);
  try {
    const asked = { text, fixed }, reasons = withReasons();
    const old = free.text === text || !fixed.length ? null : api.link(text, [], reasons, question.signal);
    const [now, before] = await Promise.all([api.link(text, fixed, reasons, question.signal), old]);
    if (question !== asking) return;
    if (!asked.fixed.length) free = { text, links: now.links };
    else if (before) free = { text, links: before.links };
    links = now.links;
    draw();
    const many = links.length === 1 ? "1 name" : `${links.length} names`;
    status.textContent = links.length ? `${many} in ${Math.max(1, Math.round(now.milliseconds ?? 0))} ms` : "no names found";
    remember();
  } catch (error) {
    if (question !== asking || error.name === "AbortError") return;
    if (error.status === 422 && fixed.length) {  // a link made with another knowledge base
      fixed = [];
      await run();
      status.textContent += "; the corrections do not fit this knowledge base";
      return;
    }
    status.textContent = error.status ? error.message : "The service does not answer. Your text is still here; try again in a moment.";
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
  tellChanges(before);
  showOpened();
  for (const id of ["copy", "download"]) $(id).disabled = !text;
}

function showOpened() {
  const link = links.find((other) => samePlace(other, opened));
  if (!link) {
    opened = null;
    panel.hint();
  } else {
    const helped = tiesOf(links, links.indexOf(link)).filter((tie) => tie.given && tie.value > 0);
    panel.show(link, helped.map((tie) => links[tie.mention]), fixed.length ? freeOf(link) : null, withReasons(), {
      choose: (entity) => correct(link, entity),
      release: () => release(link),
      close: () => close(true),
    });
  }
  sheet.connect(links, opened);
  graph.mark(links, opened);
}

function tellChanges(before) {
  if (!fixed.length) { changes.replaceChildren(); return; }
  const said = fixed.length === 1 ? "1 correction" : `${fixed.length} corrections`;
  const it = fixed.length === 1 ? "it" : "them";
  const moved = links.map((link, place) => [link, before[place], place]).filter(([, other]) => other);
  const told = moved.length ? `${said}, and ${moved.length === 1 ? "another name changes" : `${moved.length} other names change`} with ${it}:` : `${said}; no other name changes with ${it}.`;
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
  changes.replaceChildren(make("div", "row", make("p", "", told), undo), list);
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

/** Keep the corrections that stand before or behind what was edited. */
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
    status.textContent = "the link stands in the address bar";
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
  const tell = () => $("theme").setAttribute("aria-pressed", String(dark()));
  $("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("sgtb-theme", root.dataset.theme); } catch { /* only for now, then */ }
    tell();
  });
  system.addEventListener("change", tell);
  tell();
}

async function tellKnowledgeBase() {
  try {
    const kb = await api.knowledgeBase();
    longestWithReasons = kb.limits?.max_reasons_characters ?? longestWithReasons;
    const count = (value) => Number(value).toLocaleString("en");
    $("kb").textContent = `${count(kb.entities)} entities, ${count(kb.names)} names`;
  } catch { /* the page works without */ }
}

field.addEventListener("input", () => {
  edit(field.value.toWellFormed?.() ?? field.value);
  asking?.abort();
  clearTimeout(timer);
  sheet.dim(true);
  timer = setTimeout(run, PAUSE);
});
for (const [name, words] of EXAMPLES) {
  $("examples").append(makeButton("chip", name, () => start({ text: words, fixed: [] })));
}
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
tellKnowledgeBase();
panel.hint();
start(address.read(location.hash) ?? { text: EXAMPLES[0][1], fixed: [] });
