// The address: a text and its corrections, written behind the # so that a link brings them back.

const VERSION = 1;
/** Browsers take more, mail programs and chats do not. */
const LONGEST = 8000;

/** Return the part from # on, or null if it would be too long. */
export function write(text, fixed) {
  if (!text) return "";
  const bytes = new TextEncoder().encode(JSON.stringify([VERSION, text, fixed.map((f) => [f.start, f.end, f.entity])]));
  if (bytes.length > LONGEST) return null;
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `#${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Return {text, fixed}, or null if that is not what stands there. */
export function read(hash) {
  if (hash.length < 2 || hash.length > 2 * LONGEST || !/^#[\w-]+$/.test(hash)) return null;
  try {
    const letters = atob(hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const [version, text, fixed] = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (version !== VERSION || typeof text !== "string" || !Array.isArray(fixed)) return null;
    const length = Array.from(text).length;
    return { text, fixed: fixed.map((given) => correction(given, length)) };
  } catch {
    return null;
  }
}

function correction([start, end, entity], length) {
  const placed = Number.isInteger(start) && Number.isInteger(end) && 0 <= start && start < end && end <= length;
  if (!placed || (entity !== null && typeof entity !== "string")) throw new Error("no correction");
  return { start, end, entity };
}
