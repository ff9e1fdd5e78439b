// Calls of the service. An error response becomes an Error with its message.

const MAX_WAIT = 10;  // seconds
const MAX_CACHED = 500;
const MAX_LINKS = 300;  // of an entity
const NO_FACTS = { description: "", links: [] };
const cache = new Map();

async function bodyOf(response) {
  let body = null;
  try { body = await response.json(); } catch { /* not JSON */ }
  if (response.ok && body !== null) return body;
  const error = new Error(body?.error?.message ?? `the service answered ${response.status}`);
  error.status = response.status;
  throw error;
}

const pause = (seconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, 1000 * seconds);
  signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});

/** Link a text; if the service is overloaded, retry once after the time it states. */
export async function link(text, fixed, reasons, signal) {
  const body = JSON.stringify({ text, fixed: fixed.length ? fixed : null, candidates: 8, reasons });
  const send = () => fetch("api/link", {
    method: "POST", headers: { "Content-Type": "application/json" }, body, signal,
  });
  let response = await send();
  if (response.status === 503) {
    const wait = Number(response.headers.get("Retry-After")) || 1;
    await pause(Math.min(wait, MAX_WAIT), signal);
    response = await send();
  }
  return bodyOf(response);
}

/** Return the description of an entity and the ids it links to. */
export function about(id) {
  if (id === "." || id === "..") return Promise.resolve(NO_FACTS);  // not possible in a URL
  if (!cache.has(id)) {
    if (cache.size >= MAX_CACHED) cache.clear();
    const request = fetch(`api/entity/${encodeURIComponent(id)}?aliases=0&links=${MAX_LINKS}`).then(bodyOf);
    cache.set(id, request.then(facts, () => { cache.delete(id); return NO_FACTS; }));
  }
  return cache.get(id);
}

function facts(entity) {
  return { description: String(entity.description ?? ""), links: (entity.links ?? []).map((other) => other.id) };
}

export const knowledgeBase = () => fetch("api/kb").then(bodyOf);
