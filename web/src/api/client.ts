// Requests to the console's server. Every failure is an ApiError with a code of the contract.

import { signal } from "@preact/signals";

const BASE = "/api/v1";

/** Whether the server wants a token before anything else. */
export const loginNeeded = signal(false);

/** A request that was refused or did not get through. */
export class ApiError extends Error {
  constructor(
    /** A code of the contract, or `unreachable`. */
    readonly code: string,
    message: string,
    /** The HTTP status; 0 where no answer came. */
    readonly status: number,
    readonly body: unknown = null,
  ) {
    super(message);
  }
}

type Cached = { etag: string; value: unknown };
const cache = new Map<string, Cached>();
const CACHED_MAX = 60;

/** Reads. What the server says is unchanged comes from memory. */
export async function get<T>(path: string, query: Record<string, string | number | boolean | null | undefined> = {}): Promise<T> {
  const url = BASE + path + queryOf(query);
  const known = cache.get(url);
  const answer = await send(url, { headers: known ? { "If-None-Match": known.etag } : {} });
  if (answer.status === 304 && known) return known.value as T;
  const value = (await answer.json()) as T;
  const etag = answer.headers.get("ETag");
  if (etag) {
    cache.delete(url);
    cache.set(url, { etag, value });
    if (cache.size > CACHED_MAX) cache.delete(cache.keys().next().value!);
  }
  return value;
}

/** Changes something. The header is one that no form and no foreign page can send. */
export async function change<T = unknown>(method: "POST" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = { "X-Mono-Agent-Console": "1" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await send(BASE + path, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  const text = await answer.text();
  return (text ? JSON.parse(text) : null) as T;
}

/** Sends one file, telling how far it is (0 to 1). */
export function upload<T>(file: File, told: (part: number) => void, stop: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", BASE + "/uploads");
    request.setRequestHeader("X-Mono-Agent-Console", "1");
    request.setRequestHeader("Content-Type", file.type || "application/octet-stream");
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
    request.upload.onprogress = (event) => told(event.total ? event.loaded / event.total : 0);
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new ApiError("aborted", "Removed.", 0));
    request.onload = () => {
      const body = parsed(request.responseText);
      if (request.status < 300) resolve(body as T);
      else reject(refusal(request.status, body));
    };
    stop.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/** The bytes of a file. */
export async function bytes(path: string): Promise<Blob> {
  return (await send(BASE + path, {})).blob();
}

/** The address of a route, for links and images. */
export function address(path: string): string {
  return BASE + path;
}

/** A path out of its parts, each escaped. */
export function path(...parts: string[]): string {
  return "/" + parts.map(encodeURIComponent).join("/");
}

async function send(url: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(url, { credentials: "same-origin", cache: "no-store", ...init });
  } catch {
    throw unreachable();
  }
  if (answer.ok || answer.status === 304) return answer;
  const error = refusal(answer.status, parsed(await answer.text()));
  if (error.code === "login_required") loginNeeded.value = true;
  throw error;
}

function unreachable(): ApiError {
  return new ApiError("unreachable", "The console does not answer. Nothing was changed.", 0);
}

function refusal(status: number, body: unknown): ApiError {
  const error = (body as { error?: { code?: unknown; message?: unknown } } | null)?.error;
  const code = typeof error?.code === "string" ? error.code : `http_${status}`;
  const message = typeof error?.message === "string" ? error.message : `The console refused this (${status}).`;
  return new ApiError(code, message, status, error ?? null);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function queryOf(query: Record<string, string | number | boolean | null | undefined>): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (given.length === 0) return "";
  return "?" + new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
}
