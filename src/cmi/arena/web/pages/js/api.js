// Talks to the server: JSON both ways, the CSRF token on every change.
//
// A request ends in one of three ways: the answer; `Refusal`, the server's considered no (it will say no again); or
// `Unreachable`, no answer now (no connection, time-out, overload: the same request may succeed later).
import { language } from "./words.js";

const PATIENCE_MS = 20_000;
const LATER = new Set([408, 425, 429, 500, 502, 503, 504]);

let csrf = null;

export class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class Unreachable extends Error {}

export const get = (path) => request("GET", path);
export const post = (path, body = {}) => request("POST", path, body);
export const patch = (path, body) => request("PATCH", path, body);
export const remove = (path) => request("DELETE", path);

export function upload(path, file) {
  const form = new FormData();
  form.append("file", file);
  return request("POST", path, form, 5 * 60_000);
}

/** Who is signed in; also renews the CSRF token. */
export async function whoAmI() {
  const me = await get("/api/me");
  csrf = me.csrf;
  return me;
}

async function request(method, path, body, patience = PATIENCE_MS, again = true) {
  const response = await send(method, path, body, patience);
  if (response.ok) return response.status === 204 ? null : await response.json();
  const refusal = await refusalOf(response);
  if (refusal.code === "csrf" && again) {
    await whoAmI(); // another tab signed in since this page was opened
    return request(method, path, body, patience, false);
  }
  throw LATER.has(response.status) ? new Unreachable(refusal.message) : refusal;
}

async function send(method, path, body, patience) {
  const headers = { Accept: "application/json", "Accept-Language": language() };
  if (method !== "GET" && csrf !== null) headers["X-CSRF-Token"] = csrf;
  const form = body instanceof FormData;
  if (body !== undefined && !form) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, {
      method,
      headers,
      body: form || body === undefined ? body : JSON.stringify(body),
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.timeout(patience),
    });
  } catch (error) {
    throw new Unreachable(error.message);
  }
}

async function refusalOf(response) {
  try {
    const { code, message } = await response.json();
    return new Refusal(response.status, code ?? "unknown", message ?? response.statusText);
  } catch {
    return new Refusal(response.status, "unknown", response.statusText);
  }
}
