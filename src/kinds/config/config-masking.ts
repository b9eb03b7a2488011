/**
 * Config without its secrets, for users who may read it but not change it. A user who may change it
 * sees the secrets: they could send any of them to a server of their own.
 */
import { parse, stringify } from 'yaml';
import { isRecord, type JsonObject, type KubeObject } from '../../apimachinery/index.ts';
import { LAST_APPLIED } from '../secrets/last-applied.ts';
import { MASK } from '../secrets/masking.ts';
import { plainConfigText } from './config-raw.ts';
import { namedVariable, SECRET_CONFIG_PATHS } from './environment-references.ts';

/** A copy. `holdsSecret` returns true for a text that has to be masked. */
export function withoutConfigSecrets(
  object: KubeObject,
  holdsSecret: (raw: string) => boolean,
): KubeObject {
  const shown: KubeObject = { ...object };
  const raw = object.spec?.['raw'];
  if (typeof raw === 'string' && holdsSecret(raw)) {
    shown.spec = { ...object.spec, raw: withoutSecrets(raw) };
  }
  if (object.status !== undefined) shown.status = masked(object.status) as JsonObject;
  // It may hold a former text, with its secrets.
  const { [LAST_APPLIED]: applied, ...annotations } = object.metadata.annotations ?? {};
  if (applied !== undefined) shown.metadata = { ...object.metadata, annotations };
  return shown;
}

const HEADER = '# Secrets and comments are left out: you may not change this.\n';

/** Serialized anew, because a comment may hold a secret. */
function withoutSecrets(raw: string): string {
  try {
    const value: unknown = parse(plainConfigText(raw));
    return isRecord(value) ? HEADER + stringify(masked(value)) : MASK;
  } catch {
    return MASK;
  }
}

/** A copy with `MASK` in place of secrets. References to variables stay. */
function masked(value: unknown): unknown {
  const copy = structuredClone(value);
  for (const path of SECRET_CONFIG_PATHS) maskAt(copy, path);
  return copy;
}

function maskAt(value: unknown, [step, ...rest]: readonly string[]): void {
  if (typeof value !== 'object' || value === null || step === undefined) return;
  const at = value as Record<string, unknown>;
  for (const key of step === '*' ? Object.keys(at) : [step]) {
    if (!Object.hasOwn(at, key)) continue;
    if (rest.length > 0) maskAt(at[key], rest);
    else if (!isShown(at[key])) at[key] = MASK;
  }
}

function isShown(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'string' && namedVariable(value) !== undefined;
}
