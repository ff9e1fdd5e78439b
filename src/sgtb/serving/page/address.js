// The page address: a text and its corrections are stored in the URL fragment.

const VERSION = 1;
/** Mail programs and chats cut longer links. */
const MAX_LENGTH = 8000;

/** Return the fragment with its #, or null if it would be too long. */
export function write(text, fixed) {
  if (!text) return "";
  const bytes = new TextEncoder().encode(JSON.stringify([VERSION, text, fixed.map((f) => [f.start, f.end, f.entity])]));
  if (bytes.length > MAX_LENGTH) return null;
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `#${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Return {text, fixed}, or null if the fragment is not valid. */
export function read(hash) {
  if (hash.length < 2 || hash.length > 2 * MAX_LENGTH || !/^#[\w-]+$/.test(hash)) return null;
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
  if (!placed || (entity !== null && typeof entity !== "string")) throw new Error("invalid correction");
  return { start, end, entity };
}
