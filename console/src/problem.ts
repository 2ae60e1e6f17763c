// What went wrong with a call to the service: problem details (RFC 9457).

import { type JsonObject, parseObject } from "./json.ts";

interface FieldError {
  readonly where: string;
  readonly what: string;
}

/** An error of the service, or a failure to reach it (code "unreachable"). */
export class Problem extends Error {
  override readonly name = "Problem";
  /** 0 without a response. */
  readonly status: number;
  readonly code: string;
  readonly title: string;
  /** How to fix it; "" if unknown. */
  readonly how: string;
  readonly errors: readonly FieldError[];
  /** The whole document, for the fields that only some problems have. */
  readonly document: JsonObject;

  constructor(
    given: {
      status: number;
      code: string;
      title: string;
      detail?: string;
      how?: string;
      errors?: readonly FieldError[];
      document?: JsonObject;
    },
  ) {
    super(given.detail || given.title);
    this.status = given.status;
    this.code = given.code;
    this.title = given.title;
    this.how = given.how ?? "";
    this.errors = given.errors ?? [];
    this.document = given.document ?? {};
  }

  /** What is wrong, in one sentence. */
  get what(): string {
    return this.message;
  }

  /** Return what is wrong with one field of the request body; null if nothing is. */
  errorAt(field: string): string | null {
    return this.errors.find(({ where }) => where === `body.${field}`)?.what ?? null;
  }
}

/** Return anything that was thrown as a Problem. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new Problem({
    status: 0,
    code: "console",
    title: "The console failed",
    detail,
    how: "Reload the page. If it happens again, report it.",
  });
}

/** Return the problem that a failed response describes. */
export async function problemOf(response: Response): Promise<Problem> {
  const document = await bodyOf(response);
  const text = (name: string) => typeof document[name] === "string" ? document[name] : "";
  const errors = Array.isArray(document.errors) ? document.errors as unknown as FieldError[] : [];
  const wait = response.headers.get("Retry-After");
  return new Problem({
    status: response.status,
    code: text("code") || `http_${response.status}`,
    title: text("title") || response.statusText || `HTTP ${response.status}`,
    detail: text("detail") || `The service answered with HTTP ${response.status}.`,
    how: text("how") || (wait ? `Try again in ${wait} s.` : ""),
    errors,
    document,
  });
}

async function bodyOf(response: Response): Promise<JsonObject> {
  const parsed = parseObject(await response.text());
  return "value" in parsed ? parsed.value : {}; // not a problem document, such as a proxy's page
}
