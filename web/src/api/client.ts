/**
 * The client: cookie and CSRF token with every request, one log-in for all that meet an expired session.
 *
 * The CSRF token stays in memory. A request that is answered with 401 waits until the user has logged in again, and is
 * then sent again.
 */
import createClient from "openapi-fetch";
import { saveBlob } from "../lib/download";
import { setReachable } from "./connection";
import { ApiFailure, Unreachable } from "./failure";
import type { paths } from "./schema";
import type { ErrorBody, Session } from "./types";

let csrfToken: string | null = null;
let askForLogin: (() => Promise<void>) | null = null;
let pendingLogin: Promise<void> | null = null;

/** Keep the token of a session that has been opened or read. */
export function keepSession(session: Session | null): void {
  csrfToken = session?.csrf_token ?? null;
}

/** Name the function that asks the user to log in again; its promise resolves once that is done. */
export function onExpiredSession(ask: (() => Promise<void>) | null): void {
  askForLogin = ask;
}

async function send(request: Request): Promise<Response> {
  if (csrfToken && request.method !== "GET") request.headers.set("X-CSRF-Token", csrfToken);
  try {
    const response = await fetch(request);
    // A proxy in front of a service that is down answers itself, without our error body.
    const down = [502, 503, 504].includes(response.status) && !isJson(response);
    setReachable(!down);
    if (down) throw new Unreachable();
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    setReachable(false);
    throw error instanceof Unreachable ? error : new Unreachable();
  }
}

function isJson(response: Response): boolean {
  return (response.headers.get("content-type") ?? "").includes("json");
}

async function sendAuthorised(request: Request): Promise<Response> {
  const again = request.clone();
  const response = await send(request);
  if (response.status !== 401 || new URL(request.url).pathname === "/session" || !askForLogin) return response;
  pendingLogin ??= askForLogin().finally(() => {
    pendingLogin = null;
  });
  await pendingLogin;
  return send(again);
}

export const api = createClient<paths>({
  baseUrl: window.location.origin,
  fetch: sendAuthorised,
  credentials: "same-origin",
  querySerializer: { array: { style: "form", explode: true } },
});

type Answer<T> = Promise<{ data?: T; error?: unknown; response: Response }>;

/** Return the data of an answer, or throw `ApiFailure`. Name the type where it has tuples, which the client forgets. */
export async function read<T>(asked: Answer<T>): Promise<T>;
export async function read<T extends object>(asked: Answer<object>): Promise<T>;
export async function read<T>(asked: Answer<T>): Promise<T> {
  const { data, error, response } = await asked;
  if (response.ok) return data as T;
  const body: Partial<ErrorBody> = typeof error === "object" && error !== null ? (error as Partial<ErrorBody>) : {};
  throw new ApiFailure(response.status, body);
}

/** Read a file of the service and save it; the browser shows its own download. */
export async function saveFile(path: string, name: string): Promise<void> {
  const response = await sendAuthorised(new Request(path, { credentials: "same-origin" }));
  if (!response.ok) {
    const body: Partial<ErrorBody> = isJson(response) ? await response.json() : {};
    throw new ApiFailure(response.status, body);
  }
  saveBlob(await response.blob(), name);
}
