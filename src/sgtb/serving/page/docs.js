// The documentation of the API, made from the OpenAPI document of the service.

import { make } from "./dom.js";

const MAX_DEPTH = 6;  // of nested schemas in examples

/** Return a schema with its reference resolved. */
function resolved(schema, api) {
  const name = schema?.$ref?.split("/").at(-1);
  return name ? api.components.schemas[name] : schema ?? {};
}

/** Return the first alternative of a schema that is not null. */
function plain(schema, api) {
  const found = resolved(schema, api);
  const alternatives = found.anyOf ?? found.oneOf;
  return alternatives ? plain(alternatives.find((one) => one.type !== "null") ?? alternatives[0], api) : found;
}

function typeOf(schema, api) {
  const found = resolved(schema, api);
  const alternatives = found.anyOf ?? found.oneOf;
  if (alternatives) return alternatives.map((one) => typeOf(one, api)).join(" or ");
  if (found.type === "array") return `list of ${typeOf(found.items ?? {}, api)}`;
  return found.enum?.map((value) => JSON.stringify(value)).join(" or ") ?? found.type ?? "any";
}

/** Return a value that fits a schema; optional properties are left out. */
function example(schema, api, depth = 0) {
  const found = plain(schema, api);
  const given = found.examples?.[0] ?? found.example ?? found.const ?? found.enum?.[0];
  if (given !== undefined) return given;
  if (found.type === "object" && depth < MAX_DEPTH) {
    const names = found.required ?? [];
    return Object.fromEntries(names.map((name) => [name, example(found.properties[name], api, depth + 1)]));
  }
  if (found.type === "array") return depth < MAX_DEPTH ? [example(found.items, api, depth + 1)] : [];
  return { string: "Jordan beat Utah in Chicago.", integer: 1, number: 0.5, boolean: true }[found.type] ?? {};
}

function table(heads, rows) {
  const head = make("tr", "", ...heads.map((words) => make("th", "", words)));
  const body = rows.map((cells) => make("tr", "", ...cells.map((cell) => make("td", "", cell))));
  return make("div", "scroll", make("table", "", make("thead", "", head), make("tbody", "", ...body)));
}

/** Return the fields of a request body: name, type and meaning. */
function fields(schema, api) {
  const found = plain(schema, api);
  const needed = new Set(found.required ?? []);
  return Object.entries(found.properties ?? {}).map(([name, one]) => [
    make("code", "", name), typeOf(one, api), `${needed.has(name) ? "required. " : ""}${one.description ?? ""}`,
  ]);
}

function curl(method, path, content, body) {
  const url = `${location.origin}${path.replace(/[{}]/g, "")}`;
  if (body === undefined) return `curl ${method === "get" ? "" : `-X ${method.toUpperCase()} `}'${url}'`;
  const data = typeof body === "string" ? body : JSON.stringify(body);
  return `curl '${url}' -H 'Content-Type: ${content}' -d '${data.replaceAll("'", "'\\''")}'`;
}

function operation(path, method, one, api) {
  const title = make("h3", "", make("code", "method", method.toUpperCase()), " ", make("code", "", path));
  const box = make("article", "card", title, make("p", "", one.description ?? one.summary ?? ""));
  const parameters = (one.parameters ?? []).map((p) => [
    make("code", "", p.name), typeOf(p.schema, api), `${p.required ? "required. " : ""}${p.description ?? p.schema?.description ?? ""}`,
  ]);
  const [content, sent] = Object.entries(one.requestBody?.content ?? {})[0] ?? [];
  const rows = [...parameters, ...(sent ? fields(sent.schema, api) : [])];
  if (rows.length) box.append(table([sent ? "field" : "parameter", "type", "meaning"], rows));
  box.append(make("pre", "", curl(method, path, content, sent && example(sent.schema, api))));
  box.append(table(["status", "response"], Object.entries(one.responses).map(([status, { description }]) => [status, description])));
  return box;
}

async function show() {
  const main = document.querySelector("main");
  const response = await fetch("openapi.json");
  if (!response.ok) throw new Error(`the service answered ${response.status}`);
  const api = await response.json();
  const groups = new Map();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, one] of Object.entries(methods)) {
      const tag = one.tags?.[0] ?? "other";
      groups.set(tag, [...groups.get(tag) ?? [], operation(path, method, one, api)]);
    }
  }
  const parts = [...groups].map(([tag, boxes]) => make("section", "", make("h2", "", tag), ...boxes));
  main.replaceChildren(...(api.info.description ?? "").split("\n\n").map((words) => make("p", "", words)), ...parts);
}

show().catch((error) => { document.getElementById("loading").textContent = `The OpenAPI document was not loaded: ${error.message}`; });
