/**
 * Label maps and selectors between a tenant and the control-plane cluster. Few keys change: those
 * that mean something to programs on the control-plane cluster itself.
 */
import { isRecord, type JsonObject, type JsonValue } from '../apimachinery/index.ts';
import { safeConcatName, shortHash } from './names.ts';

const PREFIX = 'gitplane.dev';
const MANAGED_BY = `${PREFIX}/managed-by`;
const NAMESPACE = `${PREFIX}/namespace`;
/** Helm finds its releases by `release`; the others mark what the sync has made. */
const TRANSLATED_KEYS = ['release', NAMESPACE, MANAGED_BY, `${PREFIX}/controlled-by`];

export interface LabelOwner {
  readonly tenant: string;
  /** Of the object in the tenant cluster. */
  readonly namespace: string;
}

/** The key that stands for `key` on the control-plane cluster: `gitplane.dev/label-…`. */
export function hostLabelKey(key: string, tenant: string): string {
  return safeConcatName(`${PREFIX}/label`, tenant, 'x', shortHash(key));
}

/** A map of labels, with the marks of its owner, or a selector. Undefined: it is neither. */
export function labelsToHost(value: JsonValue, owner: LabelOwner): JsonObject | undefined {
  const forth = new Map(TRANSLATED_KEYS.map((key) => [key, hostLabelKey(key, owner.tenant)]));
  if (isSelector(value)) return translateSelector(value, forth);
  if (!isLabelMap(value)) return undefined;
  const translated = new Set(forth.values());
  const kept = Object.entries(value).filter(([key]) => !translated.has(key));
  const marks = { [MANAGED_BY]: owner.tenant, [NAMESPACE]: owner.namespace };
  return { ...renamed(kept, forth), ...marks };
}

/** The way back: marks are left out, keys get their own names again. */
export function labelsToTenant(value: JsonValue, owner: LabelOwner): JsonObject | undefined {
  const back = new Map(TRANSLATED_KEYS.map((key) => [hostLabelKey(key, owner.tenant), key]));
  if (isSelector(value)) return translateSelector(value, back);
  if (!isLabelMap(value)) return undefined;
  const kept = Object.entries(value).filter(([key]) => key !== MANAGED_BY && key !== NAMESPACE);
  return renamed(kept, back);
}

type Entries = readonly (readonly [string, JsonValue])[];

function renamed(entries: Entries, names: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries(entries.map(([key, value]) => [names.get(key) ?? key, value]));
}

function isLabelMap(value: JsonValue): value is JsonObject {
  return isRecord(value) && Object.values(value).every((item) => typeof item === 'string');
}

function isSelector(value: JsonValue): value is JsonObject {
  return (
    isRecord(value) && (isRecord(value['matchLabels']) || Array.isArray(value['matchExpressions']))
  );
}

/** Operators and values stay, in both parts. */
function translateSelector(selector: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  const { matchLabels, matchExpressions } = selector;
  const translated: JsonObject = { ...selector };
  if (isRecord(matchLabels)) {
    translated['matchLabels'] = renamed(Object.entries(matchLabels), names);
  }
  if (Array.isArray(matchExpressions)) {
    translated['matchExpressions'] = matchExpressions.map((item) => {
      const key = isRecord(item) ? item['key'] : undefined;
      if (!isRecord(item) || typeof key !== 'string') return item;
      return { ...item, key: names.get(key) ?? key };
    });
  }
  return translated;
}
