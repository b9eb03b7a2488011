/** Failures of requests. */
import type { Status } from './api.ts';

/** A refusal of the API. */
export class ApiError extends Error {
  readonly code: number;
  /** Empty where the answer is not a Status. */
  readonly status: Status;
  /** The answer as JSON or as text. */
  readonly body: unknown;

  constructor(code: number, body: unknown) {
    const status = isStatus(body) ? body : { code };
    super(status.message ?? (plainText(body) || `The server answered ${code}`));
    this.name = 'ApiError';
    this.code = code;
    this.status = status;
    this.body = body;
  }
}

/** The server could not be reached. */
export class ConnectionError extends Error {
  constructor(message: string, options: { readonly cause: unknown }) {
    super(message, options);
    this.name = 'ConnectionError';
  }
}

export async function refusalOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  return new ApiError(response.status, parsed(text));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The text of a proxy, or of a route that speaks another protocol.
    return text;
  }
}

const LONGEST_MESSAGE = 500;

function plainText(body: unknown): string {
  return typeof body === 'string' ? body.trim().slice(0, LONGEST_MESSAGE) : '';
}

function isStatus(body: unknown): body is Status {
  return typeof body === 'object' && body !== null && 'message' in body && 'reason' in body;
}
