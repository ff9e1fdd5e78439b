// The service, asked. What it says against a request becomes an Error with its words.

const LONGEST_WAIT = 10;
const KEPT = 500;
const LINKS = 300;  // told of an entity at most
const NOTHING = { description: "", links: [] };
const known = new Map();

async function answer(response) {
  let body = null;
  try { body = await response.json(); } catch { /* not JSON: the number must do */ }
  if (response.ok && body !== null) return body;
  const error = new Error(body?.error?.message ?? `the service answered ${response.status}`);
  error.status = response.status;
  throw error;
}

const pause = (seconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, 1000 * seconds);
  signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});

/** Link a text. A service that is busy is asked once more, when it says so. */
export async function link(text, fixed, reasons, signal) {
  const body = JSON.stringify({ text, fixed: fixed.length ? fixed : null, candidates: 8, reasons });
  const ask = () => fetch("api/link", {
    method: "POST", headers: { "Content-Type": "application/json" }, body, signal,
  });
  let response = await ask();
  if (response.status === 503) {
    const wait = Number(response.headers.get("Retry-After")) || 1;
    await pause(Math.min(wait, LONGEST_WAIT), signal);
    response = await ask();
  }
  return answer(response);
}

/** What the knowledge base says about an entity: its description, and the ids it links to. */
export function about(id) {
  if (id === "." || id === "..") return Promise.resolve(NOTHING);  // no URL can hold these
  if (!known.has(id)) {
    if (known.size >= KEPT) known.clear();
    const asked = fetch(`api/entity/${encodeURIComponent(id)}?aliases=0&links=${LINKS}`).then(answer);
    known.set(id, asked.then(facts, () => { known.delete(id); return NOTHING; }));
  }
  return known.get(id);
}

function facts(entity) {
  return { description: String(entity.description ?? ""), links: (entity.links ?? []).map((other) => other.id) };
}

export const knowledgeBase = () => fetch("api/kb").then(answer);
