// The graph of a text's entities: support and contradiction between mentions, and links of the
// knowledge base.

import { about } from "./api.js";
import { answerOf, kindOf, makeSvg, rove, samePlace } from "./dom.js";

const MAX_NODES = 40;
const MAX_LOOKUPS = 24;  // nodes whose links are looked up
const STEPS = 240;
const MIN_WEIGHT = 0.04;  // of the strongest line; weaker ones are left out
const MAX_LABEL = 24;
const GRAVITY = 1.1;
const ROOM = { x: 104, y: 42 };  // pixels of a node with its label

const box = document.getElementById("graph");
const card = document.getElementById("graph-card");
let nodes = [], wanted = nodes, marked = null;

/** Draw the entities of links once their facts are loaded; `open` takes the index of a link. */
export async function draw(links, open) {
  const found = wanted = nodesOf(links);
  const facts = await Promise.all(found.slice(0, MAX_LOOKUPS).map((node) => about(node.id)));
  if (found !== wanted) return;  // outdated
  nodes = found;
  card.hidden = nodes.length < 2;
  if (card.hidden) { box.replaceChildren(); return; }
  const edges = [...knowledgeEdges(nodes, facts), ...edgesOf(links, nodes)];
  const width = Math.max(280, box.clientWidth), height = Math.round(Math.min(480, 76 + 30 * nodes.length));
  place(nodes, edges, width, height);
  const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "Entities of the text" });
  for (const edge of edges) svg.append(lineOf(edge));
  const shapes = nodes.map((node) => shapeOf(node, edges));
  svg.append(...shapes);
  box.replaceChildren(svg);
  rove(box, shapes, (at, keyboard) => open(nodes[at].places[0], keyboard));
  show();
}

/** Mark the node of the opened mention, and its lines. */
export function mark(links, opened) {
  const at = links.findIndex((link) => samePlace(link, opened));
  marked = at < 0 ? null : links[at].entity;
  show();
}

function show() {
  const id = marked;
  box.classList.toggle("chosen", id !== null);
  const isOpened = (at) => id !== null && nodes[Number(at)].id === id;
  for (const shape of box.querySelectorAll(".node")) shape.classList.toggle("opened", isOpened(shape.dataset.at));
  for (const line of box.querySelectorAll(".edge")) line.classList.toggle("near", isOpened(line.dataset.a) || isOpened(line.dataset.b));
}

function nodesOf(links) {
  const found = new Map();
  links.forEach((link, at) => {
    if (link.entity === null) return;
    if (!found.has(link.entity)) found.set(link.entity, { id: link.entity, title: answerOf(link), type: link.type, places: [], x: 0, y: 0 });
    found.get(link.entity).places.push(at);
  });
  return [...found.values()].slice(0, MAX_NODES).map((node, at) => Object.assign(node, { at }));
}

function knowledgeEdges(among, facts) {
  const byId = new Map(among.map((node) => [node.id, node])), edges = new Map();
  facts.forEach(({ links }, at) => {
    for (const id of links) {
      const other = byId.get(id);
      if (!other || other.at === at) continue;
      const [a, b] = other.at < at ? [other, among[at]] : [among[at], other];
      edges.set(a.at * MAX_NODES + b.at, { a, b, sign: "linked", value: 0, weight: 0.1 });
    }
  });
  return [...edges.values()];
}

function edgesOf(links, among) {
  const byPlace = new Map(among.flatMap((node) => node.places.map((at) => [at, node])));
  const sums = new Map();
  links.forEach((link, at) => {
    for (const reason of link.reasons) {
      const from = byPlace.get(at), to = byPlace.get(reason.mention);
      if (!from || !to || from === to) continue;
      const [a, b] = from.at < to.at ? [from, to] : [to, from];
      const key = a.at * MAX_NODES + b.at;
      if (!sums.has(key)) sums.set(key, { a, b, value: 0 });
      sums.get(key).value += reason.value;
    }
  });
  const edges = [...sums.values()], most = Math.max(...edges.map((edge) => Math.abs(edge.value)), 1e-9);
  for (const edge of edges) {
    edge.weight = Math.abs(edge.value) / most;
    edge.sign = edge.value < 0 ? "against" : "for";
  }
  return edges.filter((edge) => edge.weight >= MIN_WEIGHT);
}

/** Force-directed layout, deterministic: it always starts from the same circle. */
function place(nodes, edges, width, height) {
  const n = nodes.length, ideal = 1.6 / Math.sqrt(n);
  nodes.forEach((node, i) => {
    node.x = -Math.cos(2 * Math.PI * i / n);
    node.y = -Math.sin(2 * Math.PI * i / n);
  });
  for (let step = 0; step < STEPS; step++) {
    const reach = 0.12 * (1 - step / STEPS);
    const push = nodes.map((node) => [-GRAVITY * node.x, -GRAVITY * node.y]);
    for (let i = 0; i < n; i++) {
      for (let j = i + 1; j < n; j++) {
        const dx = nodes[i].x - nodes[j].x, dy = nodes[i].y - nodes[j].y, square = Math.max(1e-4, dx * dx + dy * dy);
        const force = ideal * ideal / square;
        push[i][0] += force * dx; push[i][1] += force * dy;
        push[j][0] -= force * dx; push[j][1] -= force * dy;
      }
    }
    for (const { a, b, sign, weight } of edges) {
      if (sign === "against") continue;
      const dx = a.x - b.x, dy = a.y - b.y, force = (0.3 + weight) * Math.hypot(dx, dy) / ideal;
      push[a.at][0] -= force * dx; push[a.at][1] -= force * dy;
      push[b.at][0] += force * dx; push[b.at][1] += force * dy;
    }
    nodes.forEach((node, i) => {
      const length = Math.hypot(...push[i]) || 1, move = Math.min(reach, length) / length;
      node.x += move * push[i][0];
      node.y += move * push[i][1];
    });
  }
  const aside = Math.max(70, (width - 220 * (n - 1)) / 2);  // two nodes stay off the borders
  const low = { x: aside, y: 20 }, high = { x: width - aside, y: height - 34 };
  for (const axis of ["x", "y"]) stretch(nodes, axis, low[axis], high[axis]);
  for (let step = 0; step < 80; step++) makeRoom(nodes, low, high);
}

/** Move nodes with overlapping labels apart, along the axis with the smaller overlap. */
function makeRoom(nodes, low, high) {
  for (let i = 0; i < nodes.length; i++) {
    for (let j = i + 1; j < nodes.length; j++) {
      const missing = (axis) => 1 - Math.abs(nodes[i][axis] - nodes[j][axis]) / ROOM[axis];
      const [x, y] = [missing("x"), missing("y")];
      if (x <= 0 || y <= 0) continue;
      const axis = x < y ? "x" : "y";
      const [front, back] = nodes[i][axis] < nodes[j][axis] ? [nodes[i], nodes[j]] : [nodes[j], nodes[i]];
      const move = 0.25 * ROOM[axis] * Math.min(x, y);
      front[axis] = Math.max(low[axis], front[axis] - move);
      back[axis] = Math.min(high[axis], back[axis] + move);
    }
  }
}

function stretch(nodes, axis, low, high) {
  const values = nodes.map((node) => node[axis]);
  const from = Math.min(...values), span = Math.max(...values) - from;
  for (const node of nodes) node[axis] = span < 1e-6 ? (low + high) / 2 : low + (high - low) * (node[axis] - from) / span;
}

function lineOf({ a, b, sign, weight }) {
  const line = makeSvg("line", {
    x1: a.x.toFixed(1), y1: a.y.toFixed(1), x2: b.x.toFixed(1), y2: b.y.toFixed(1),
    class: `edge ${sign}`, "stroke-width": (1 + 4 * weight).toFixed(2),
  });
  line.dataset.a = String(a.at);
  line.dataset.b = String(b.at);
  return line;
}

function shapeOf(node, edges) {
  const supporters = edges.filter((edge) => edge.value > 0 && (edge.a === node || edge.b === node))
    .map((edge) => (edge.a === node ? edge.b : edge.a).title);
  const letters = Array.from(node.title);
  const label = letters.length > MAX_LABEL ? `${letters.slice(0, MAX_LABEL - 1).join("")}…` : node.title;
  const shape = makeSvg("g", {
    class: `node ${kindOf(node.type)}`, role: "button", transform: `translate(${node.x.toFixed(1)} ${node.y.toFixed(1)})`,
    "aria-label": supporters.length ? `${node.title}, supported by ${supporters.join(", ")}` : node.title,
  },
  makeSvg("title", {}, node.title),
  makeSvg("rect", { class: "room", x: -ROOM.x / 2, y: -14, width: ROOM.x, height: ROOM.y }),
  makeSvg("circle", { r: 7 + 2 * Math.min(4, node.places.length - 1) }),
  makeSvg("text", { y: 24, "text-anchor": "middle" }, label));
  shape.dataset.at = String(node.at);
  return shape;
}
