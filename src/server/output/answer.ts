/** Complete answer of a handler. Watches write their own. */
import type { ObjectMeta } from '../../apimachinery/index.ts';
import { totalLength } from './list-bytes.ts';
import { JSON_TYPE } from './negotiation.ts';
import type { ShownObjects } from './representation.ts';

export interface Answer {
  readonly code: number;
  readonly contentType: string;
  readonly body: Buffer | string;
  /** Bytes behind `body` in parts, shared with other answers. */
  readonly rest?: readonly Buffer[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Texts of Warning headers. */
  readonly warnings?: readonly string[];
  /** Objects of the body. Set if the body consists of stored objects alone. */
  readonly shown?: ShownObjects;
  /** Metadata of the object that a write left, whatever form the body has. */
  readonly written?: ObjectMeta;
}

/** As bytes: to a text the server would add a charset, which Kubernetes does not send. */
export function jsonAnswer(value: unknown, code = 200): Answer {
  return { code, contentType: JSON_TYPE, body: Buffer.from(JSON.stringify(value)) };
}

export function textAnswer(text: string, code = 200): Answer {
  return { code, contentType: 'text/plain; charset=utf-8', body: text };
}

/** The whole body. */
export function bodyOf({ body, rest }: Pick<Answer, 'body' | 'rest'>): Buffer {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  return rest === undefined ? bytes : Buffer.concat([bytes, ...rest]);
}

export function lengthOf({ body, rest }: Pick<Answer, 'body' | 'rest'>): number {
  return Buffer.byteLength(body) + totalLength(rest ?? []);
}

const LONGEST_WARNINGS = 4096;
const SHORTENED = 256;
/** Bytes of a header beside its text: the name, the code, quotation marks and the line end. */
const BESIDE = 'warning: 299 - ""\r\n'.length;

/**
 * Values for `Warning` headers (RFC 7234, section 5.5): each text once, quoted, without control
 * characters; shortened, and the last ones counted, when all of them together would be too much for a client or a proxy.
 */
export function warningHeaders(warnings: readonly string[]): string[] {
  const texts = [...new Set(warnings)].map((text) => text.replace(/[\p{Cc}\s]+/gu, ' ').trim());
  const whole = areShort(texts) ? texts.map(asciiOnly) : undefined;
  if (whole !== undefined && areShort(whole)) return whole.map(quoted);
  const shown = texts
    .slice(0, LONGEST_WARNINGS / SHORTENED)
    .map((text) => asciiOnly(text.slice(0, SHORTENED)).slice(0, SHORTENED));
  const more = texts.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more warnings are not shown`] : [])].map(quoted);
}

function areShort(texts: readonly string[]): boolean {
  return texts.reduce((sum, text) => sum + text.length + BESIDE, 0) <= LONGEST_WARNINGS;
}

function quoted(text: string): string {
  return `299 - "${text.replace(/["\\]/g, '\\$&')}"`;
}

/** Header values are Latin-1 at best; what is beyond ASCII is written as an escape. */
function asciiOnly(text: string): string {
  return text.replace(/[^ -~]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}
