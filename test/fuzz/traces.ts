/**
 * Values that can be recognised wherever they come out. A canary is a secret value, a mark is a text
 * of an object that is no secret. Each is written once, so that a user who shows one has read it.
 */

const CANARY = /canary-[0-9a-f]{12}-\d+/g;
const MARK = /mark-[0-9a-f]{12}-\d+/g;
const TOKEN = /\bgp[a-z]{1,3}_[0-9A-Za-z]{44}\b/g;
const BASE64 = /[A-Za-z0-9+/_-]{16,}/g;

export interface Traces {
  readonly canaries: ReadonlySet<string>;
  readonly marks: ReadonlySet<string>;
  readonly tokens: ReadonlySet<string>;
}

/** Everything of ours in a text, in the clear or in base64, twice over where need be. */
export function tracesIn(text: string): Traces {
  const canaries = new Set<string>();
  const marks = new Set<string>();
  const tokens = new Set<string>();
  const look = (part: string, depth: number): void => {
    for (const [found] of part.matchAll(CANARY)) canaries.add(found);
    for (const [found] of part.matchAll(MARK)) marks.add(found);
    for (const [found] of part.matchAll(TOKEN)) tokens.add(found);
    if (depth === 0) return;
    for (const [run] of part.matchAll(BASE64)) {
      for (let offset = 0; offset < 4; offset++) {
        const decoded = Buffer.from(run.slice(offset), 'base64').toString('latin1');
        if (isOfInterest(decoded)) look(decoded, depth - 1);
      }
    }
  };
  look(text, 2);
  return { canaries, marks, tokens };
}

function isOfInterest(decoded: string): boolean {
  return /canary-|mark-|gp[a-z]{1,3}_|Y2FuYXJ5|[A-Za-z0-9+/_-]{40}/.test(decoded);
}

/** Texts that no other run makes. */
export class TraceSource {
  readonly #run: string;
  #count = 0;

  /** `run`: 12 hexadecimal digits. */
  constructor(run: string) {
    this.#run = run;
  }

  /** In base64, as `spec.data` wants it. */
  canary(): string {
    return Buffer.from(`canary-${this.#run}-${this.#count++}`).toString('base64');
  }

  mark(): string {
    return `mark-${this.#run}-${this.#count++}`;
  }
}
