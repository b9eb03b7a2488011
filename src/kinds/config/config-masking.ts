/**
 * A Config as it is shown to who may read it and not change it: without its secrets. Whoever may
 * change it sees them, for they could send any of them to a server of theirs.
 */
import { parse, stringify } from 'yaml';
import { isRecord, type JsonObject, type KubeObject } from '../../apimachinery/index.ts';
import { MASK } from '../secrets/masking.ts';
import { plainConfigText } from './config-raw.ts';
import { namedVariable, secretConfigPaths } from './environment-references.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** A copy; `holdsSecret` says whether a text has to be masked. */
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
  // It has the text as it was applied once, whatever is there now.
  const { [LAST_APPLIED]: applied, ...annotations } = object.metadata.annotations ?? {};
  if (applied !== undefined) shown.metadata = { ...object.metadata, annotations };
  return shown;
}

const NOTE = '# Secrets and comments are left out for who may not change this.\n';

/** Written anew: a comment may say what a secret was. */
function withoutSecrets(raw: string): string {
  try {
    const value: unknown = parse(plainConfigText(raw));
    return isRecord(value) ? NOTE + stringify(masked(value)) : MASK;
  } catch {
    return MASK;
  }
}

/** What names a variable is no secret. */
function masked(value: unknown): unknown {
  const copy = structuredClone(value);
  for (const path of secretConfigPaths()) maskAt(copy, path);
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
