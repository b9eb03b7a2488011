/**
 * Moves of files to a place where `.sops.yaml` has other recipients, or encrypts less. API writes encrypt a file
 * by the rule of its place, so that a move decides who reads what comes later.
 */
import { Yielding } from '../../apimachinery/index.ts';
import { encryptedPathsOf, type ObjectChange, type Sealing } from '../../catalog/index.ts';
import {
  besideSecrets,
  isEncryptedKind,
  type Kind,
  type KindTable,
  type SecretPaths,
} from '../../kinds/index.ts';
import { type CreationRule, SealingError } from '../../sealing/index.ts';
import { isAnew } from '../writes/change-verbs.ts';
import type { SealedPlace } from '../writes/creation-rules.ts';
import { fieldsOfRule, selectedPlaces } from '../writes/rule-places.ts';
import type { Sealer } from '../writes/sealer.ts';

export interface Rules {
  readonly sealer: Pick<Sealer, 'rules' | 'recipients'>;
  readonly sealing: Sealing | undefined;
  readonly repository: SealedPlace['repository'];
  readonly kinds: Pick<KindTable, 'byKey'>;
}

/** Undefined: there is none, and API writes encrypt for this platform alone. */
type Found = CreationRule | undefined | 'unusable';

/**
 * Changes that leave an object where its file has a further recipient, where less of it is encrypted, or where
 * the rule cannot be used.
 */
export async function movedForOthers(
  rules: Rules,
  changes: readonly ObjectChange[],
): Promise<ObjectChange[]> {
  if (rules.sealing === undefined) return [];
  const own = await rules.sealer.recipients();
  const moved: ObjectChange[] = [];
  const pauses = new Yielding();
  for (const change of changes) {
    await pauses.take();
    const [from, to] = [change.before?.place.path, change.after?.place.path];
    if (from === undefined || to === undefined || from === to || isAnew(change)) continue;
    const kind = rules.kinds.byKey(change.key);
    if (kind === undefined) continue;
    const before = await ruleAt(rules, from);
    const after = await ruleAt(rules, to);
    if (before === after || !isConcerned(kind, change, [before, after])) continue;
    const isSafe =
      after !== 'unusable' &&
      isWithin(recipientsOf(after), [...own, ...recipientsOf(before)]) &&
      encryptsAsMuch(after, before, { kind, change });
    if (!isSafe) moved.push(change);
  }
  return moved;
}

async function ruleAt({ sealer, sealing, repository }: Rules, path: string): Promise<Found> {
  try {
    return await sealer.rules.ruleFor({ path, sealing, repository });
  } catch (error) {
    if (!(error instanceof SealingError)) throw error;
    return 'unusable';
  }
}

function recipientsOf(rule: Found): readonly string[] {
  return rule === undefined || rule === 'unusable' ? [] : [...rule.recipients, ...rule.pgp];
}

function isWithin(some: readonly string[], all: readonly string[]): boolean {
  return some.every((recipient) => all.includes(recipient));
}

interface Moved {
  readonly kind: Kind;
  readonly change: ObjectChange;
}

/** True if something of the object is encrypted, or would be by one of the rules. */
function isConcerned(kind: Kind, change: ObjectChange, rules: readonly Found[]): boolean {
  if (isEncryptedKind(kind) || encryptedPathsOf(change).length > 0) return true;
  return rules.some((rule) => selectedBy(rule, { kind, change }).size > 0);
}

function encryptsAsMuch(after: Found, before: Found, of: Moved): boolean {
  if (isNamed(before) && isNamed(after)) {
    const [was, is] = [before.rule, after.rule];
    if (was.name === is.name && was.text === is.text) return true;
  }
  const selected = selectedBy(after, of);
  return [...selectedBy(before, of)].every((path) => selected.has(path));
}

/** Fields and values that a rule selects beside the secrets of the kind. */
function selectedBy(rule: Found, { kind, change }: Moved): ReadonlySet<string> {
  if (!isNamed(rule)) return new Set();
  const { manifest = {} } = change.before ?? {};
  const fields = fieldsOfRule(rule.rule, kind).filter((path) => !isAbove(kind.secretPaths, path));
  const paths = [...fields, ...selectedPlaces(rule.rule, manifest)];
  return new Set(besideSecrets(kind, paths)?.map((path) => path.join('/')));
}

/** True if one of the secrets is in the field. */
function isAbove(secrets: SecretPaths, path: readonly string[]): boolean {
  return secrets.some((secret) => path.every((step, i) => step === secret[i]));
}

function isNamed(rule: Found): rule is CreationRule {
  return rule !== undefined && rule !== 'unusable' && rule.namesFields;
}
