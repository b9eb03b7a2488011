/** Rules of encrypted files: a rule is widened until it encrypts every secret in the file. */
import type { JsonObject } from '../../apimachinery/index.ts';
import {
  type Kind,
  type KindTable,
  LAST_APPLIED,
  type SecretPaths,
  secretKeys,
  secretPlaces,
} from '../../kinds/index.ts';
import { type Rule, ruleOfKeys, SealingError, selectionOf } from '../../sealing/index.ts';
import { copyIn, selectsNames } from './rule-places.ts';

/** A plaintext manifest, and the paths to encrypt beside the secret fields of its kind. */
export interface Secret {
  readonly manifest: JsonObject;
  readonly encrypted: SecretPaths;
}

/** The only type of rule that can be widened. */
const WIDE = 'encrypted_regex';

interface Widening {
  /** Preferred first. */
  readonly rules: readonly Rule[];
  readonly secrets: readonly Secret[];
  /** The rule of `.sops.yaml`. */
  readonly created?: Rule | undefined;
}

/**
 * A rule that encrypts the values of one of the rules, and every secret. Throws SealingError.
 */
export function widenedRule(kinds: KindTable, { rules, secrets, created }: Widening): Rule {
  const own = ownRule(kinds, secrets).text;
  const copies = ruleOfKeys([LAST_APPLIED]).text;
  const ruled = created?.name === WIDE && !selectsNames(created) ? [created.text] : [];
  const texts = [...ruled, own, ...ruled.map((text) => `${text}|${own}`)];
  const more = [copies, ...texts.flatMap((text) => [text, `${text}|${copies}`])];
  for (const rule of rules) {
    const wider = more.map((text) => ({ name: rule.name, text: `${rule.text}|${text}` }));
    const wide = [rule, ...(rule.name === WIDE ? wider : [])].find((one) =>
      secrets.every((secret) => hidesSecrets(kinds, one, secret)),
    );
    if (wide !== undefined) return wide;
  }
  throw new SealingError(
    `the ${rules[0]?.name} of the file leaves a secret of the object in plaintext; change it in git`,
  );
}

/** The rule that names the secret fields alone. */
export function ownRule(kinds: KindTable, secrets: readonly Secret[]): Rule {
  const keys = secrets.flatMap(({ manifest, encrypted }) => {
    const kind = kindOf(kinds, manifest);
    const others = encrypted.map((path) => path.findLast((step) => step !== '*') ?? '');
    return [...(kind === undefined ? [] : secretKeys(kind)), ...others];
  });
  return ruleOfKeys([...new Set(keys)]);
}

/** True if the rule encrypts every secret of the manifest, and its copies. */
export function hidesSecrets(
  kinds: KindTable,
  rule: Rule,
  { manifest, encrypted }: Secret,
): boolean {
  const kind = kindOf(kinds, manifest);
  const selection = selectionOf(rule);
  const keys = (path: readonly (string | number)[]): string[] =>
    path.filter((step): step is string => typeof step === 'string' && step !== '*');
  const all = kind === undefined ? [] : secretPlaces(kind, manifest);
  const copy = copyIn(manifest, selection) ? [['metadata', 'annotations', LAST_APPLIED]] : [];
  return [...all, ...encrypted, ...copy].every((path) => selection(keys(path)));
}

export function kindOf(kinds: KindTable, { apiVersion, kind }: JsonObject): Kind | undefined {
  return kinds.byKind(String(apiVersion), String(kind));
}
