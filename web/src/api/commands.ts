/** Every changing request. Callers handle `ApiFailure` and `Unreachable`; nothing is sent twice on its own. */
import { api, keepSession, read } from "./client";
import type { KeyCreation, RunSubmission, SweepSubmission, Validation } from "./types";

/** Exchange a key for a session. The key is not kept. */
export async function logIn(key: string) {
  const session = await read(api.POST("/session", { body: { key } }));
  keepSession(session);
  return session;
}

export async function logOut(): Promise<void> {
  await read(api.DELETE("/session"));
  keepSession(null);
}

export function submitRun(body: RunSubmission, idempotencyKey: string) {
  return read(api.POST("/runs", { body, params: { header: { "Idempotency-Key": idempotencyKey } } }));
}

export function cancelRun(run_id: string) {
  return read(api.DELETE("/runs/{run_id}", { params: { path: { run_id } } }));
}

export function submitSweep(body: SweepSubmission, idempotencyKey: string) {
  return read(api.POST("/sweeps", { body, params: { header: { "Idempotency-Key": idempotencyKey } } }));
}

export function cancelSweep(sweep_id: string) {
  return read(api.DELETE("/sweeps/{sweep_id}", { params: { path: { sweep_id } } }));
}

export function validate(body: Validation, signal?: AbortSignal) {
  return read(api.POST("/scenarios/validate", { body, signal }));
}

export function createKey(body: KeyCreation) {
  return read(api.POST("/keys", { body }));
}

export function revokeKey(key_id: string) {
  return read(api.DELETE("/keys/{key_id}", { params: { path: { key_id } } }));
}
