/**
 * Masks values of a vcluster.yaml in the results of its patches. The file may contain passwords,
 * and an expression can copy them anywhere; a viewer of the result must not see them.
 */
import { isRecord, type JsonObject, type JsonValue, jsonEqual } from '../apimachinery/index.ts';

export interface Masking {
  /** Secret texts become `***`; a difference between the two objects stays visible. */
  pair(
    before: JsonObject | undefined,
    after: JsonObject | undefined,
    source: unknown,
  ): { before?: JsonObject; after?: JsonObject };
  text(text: string, source: unknown): string;
}

const MASK = '***';
/** Shorter texts are too common to be masked. */
const MIN_LENGTH = 6;
/** Sections that contain no secrets: the patches are shown on purpose. */
const PUBLIC_SECTIONS: readonly string[] = ['sync', 'external'];

export function secretsOf(configs: readonly JsonObject[]): Masking {
  const secrets = new Set<string>();
  for (const config of configs) {
    for (const [key, value] of Object.entries(config)) {
      if (!PUBLIC_SECTIONS.includes(key)) collect(value, secrets);
    }
    const { gitplane: _ours, ...others } = isRecord(config['external']) ? config['external'] : {};
    collect(others, secrets);
  }
  const found = [...secrets].flatMap((text) => [text, encoded(text)]);
  const holds = (text: string, known: string): boolean =>
    found.some((secret) => text.includes(secret) && !known.includes(secret));
  return {
    pair: (before, after, source) => {
      const known = JSON.stringify(source) ?? '';
      const hide = (value: JsonObject, other: JsonObject | undefined, mark: string): JsonObject =>
        hidden(value, other, { mark, holds: (text) => holds(text, known) }) as JsonObject;
      return {
        ...(before === undefined ? {} : { before: hide(before, after, `${MASK} (before)`) }),
        ...(after === undefined ? {} : { after: hide(after, before, `${MASK} (after)`) }),
      };
    },
    text: (text, source) => {
      const known = JSON.stringify(source) ?? '';
      const unknown = found.filter((secret) => !known.includes(secret));
      return unknown.reduce((left, secret) => left.replaceAll(secret, MASK), text);
    },
  };
}

function collect(value: JsonValue, secrets: Set<string>): void {
  if (typeof value === 'string' && value.length >= MIN_LENGTH) secrets.add(value);
  if (typeof value !== 'object' || value === null) return;
  for (const each of Object.values(value)) collect(each, secrets);
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64').replace(/=+$/, '');
}

function hidden(
  value: JsonValue,
  other: JsonValue | undefined,
  by: { mark: string; holds(text: string): boolean },
): JsonValue {
  if (typeof value === 'string') {
    if (!by.holds(value)) return value;
    return jsonEqual(value, other) ? MASK : by.mark;
  }
  if (Array.isArray(value)) {
    const others = Array.isArray(other) ? other : [];
    return value.map((item, i) => hidden(item, others[i], by));
  }
  if (typeof value !== 'object' || value === null) return value;
  const others = isRecord(other) ? other : {};
  const entries = Object.entries(value).map(([key, item]) => {
    const shown = by.holds(key) ? MASK : key;
    return [shown, hidden(item, Object.hasOwn(others, key) ? others[key] : undefined, by)];
  });
  return Object.fromEntries(entries);
}
