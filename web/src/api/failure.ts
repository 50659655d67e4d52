/** Errors of requests: an answer of the service, or none. */
import type { ErrorBody, Problem } from "./types";

/** The service refused a request. `message` says what was wrong, `hint` what to do. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | null;
  readonly problems: Problem[];
  readonly requestId: string;

  constructor(status: number, body: Partial<ErrorBody>) {
    super(body.message ?? `the service answered ${status}`);
    this.name = "ApiFailure";
    this.status = status;
    this.code = body.code ?? "error";
    this.hint = body.hint ?? null;
    this.problems = body.problems ?? [];
    this.requestId = body.request_id ?? "";
  }
}

/** No answer: the service is down, or the network is. */
export class Unreachable extends Error {
  readonly hint = "Nothing you typed is lost. The dashboard tries again until the service is back.";
  constructor() {
    super("the service does not answer");
    this.name = "Unreachable";
  }
}

export interface Told {
  message: string;
  hint: string | null;
  problems: Problem[];
  requestId: string;
}

/** What an error tells its reader, whatever it is. */
export function told(error: unknown): Told {
  if (error instanceof ApiFailure)
    return { message: error.message, hint: error.hint, problems: error.problems, requestId: error.requestId };
  if (error instanceof Unreachable) return { message: error.message, hint: error.hint, problems: [], requestId: "" };
  const message = error instanceof Error ? error.message : String(error);
  return { message, hint: null, problems: [], requestId: "" };
}
