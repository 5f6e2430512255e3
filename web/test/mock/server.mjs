// A console without agents: speaks docs/design/console-api.md with the mock's state, and serves the built pages.

import { createServer } from "node:http";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { routes } from "./routes.mjs";
import { World } from "./world.mjs";

const DIST = fileURLToPath(new URL("../../dist", import.meta.url));
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** Starts it; `port` 0 takes any. */
export async function startMock({ port = 0, world = new World() } = {}) {
  const server = createServer((request, response) => {
    answer(world, request, response).catch((error) => {
      const status = error.status ?? 500;
      if (!error.status) console.error(error);
      json(response, status, { error: { code: error.code ?? "bug", message: error.message, ...error.more } });
    });
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  const close = () => {
    world.cut();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url, world, close };
}

/** A refusal of the contract. */
export class Refusal extends Error {
  constructor(status, code, message, more = {}) {
    super(message);
    Object.assign(this, { status, code, more });
  }
}

async function answer(world, request, response) {
  const url = new URL(request.url, "http://127.0.0.1");
  response.setHeader("Content-Security-Policy", POLICY);
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Referrer-Policy", "no-referrer");
  if (!url.pathname.startsWith("/api/")) return page(world, url.pathname, response);
  const path = url.pathname.slice("/api/v1".length);
  for (const [prefix, status] of world.faults) {
    if (path.startsWith(prefix)) throw new Refusal(status, status === 501 ? "not_supported" : "internal", status === 501 ? "This agent cannot do that." : "It can't be read just now. Nothing was changed.");
  }
  const changes = request.method !== "GET" && request.method !== "HEAD";
  if (changes && (request.headers["x-mono-agent-console"] !== "1" || request.headers.origin !== `http://${request.headers.host}`)) {
    throw new Refusal(403, "origin_refused", "This request does not come from the console's own page.");
  }
  const cookie = /(?:^|; )mono_agent=([^;]+)/.exec(request.headers.cookie ?? "")?.[1];
  if (world.token && cookie !== world.token && path !== "/login") throw new Refusal(401, "login_required", "Sign in with the console's token.");
  if (path === "/events") {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    return world.join(response, url.searchParams.get("thread"));
  }
  const body = changes ? await bodyOf(request) : null;
  for (const [method, pattern, work] of routes) {
    const match = request.method === method && matched(pattern, path);
    if (!match) continue;
    const result = await work({ world, query: url.searchParams, body, request, response, ...match });
    if (result === undefined) return;
    const [status, value] = Array.isArray(result) ? result : [200, result];
    return json(response, status, value, request);
  }
  throw new Refusal(404, "not_found", "There is nothing here.");
}

function matched(pattern, path) {
  const [want, have] = [pattern.split("/"), path.split("/")];
  if (want.length !== have.length) return null;
  const found = {};
  for (const [at, part] of want.entries()) {
    if (part.startsWith(":")) found[part.slice(1)] = decodeURIComponent(have[at]);
    else if (part !== have[at]) return null;
  }
  return found;
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  return request.headers["content-type"] === "application/json" ? JSON.parse(bytes.toString() || "null") : bytes;
}

function json(response, status, value, request) {
  if (value === null) return response.writeHead(status).end();
  const text = JSON.stringify(value);
  const etag = `"${createHash("sha256").update(text).digest("hex").slice(0, 16)}"`;
  if (request?.method === "GET") {
    response.setHeader("ETag", etag);
    if (request.headers["if-none-match"] === etag) return response.writeHead(304).end();
  }
  response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "private, no-cache" }).end(text);
}

async function page(world, path, response) {
  const file = normalize(path).replace(/^\/+/, "");
  const known = file.startsWith("assets/") || file === "favicon.svg";
  const bytes = await readFile(join(DIST, known ? file : "index.html")).catch(() => null);
  if (!bytes) return response.writeHead(404).end();
  const type = TYPES[extname(known ? file : "index.html")];
  response.writeHead(200, { "Content-Type": type, "Cache-Control": known ? "public, max-age=31536000, immutable" : "no-cache" });
  if (known) return response.end(bytes);
  const { theme, accent } = world.settings;
  response.end(bytes.toString().replace('data-theme="system" data-accent="evergreen"', `data-theme="${theme}" data-accent="${accent}"`));
}
