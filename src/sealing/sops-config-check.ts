/** Problems of a `.sops.yaml` that would block all writes. A push with one is refused. */
import { isRecord, Yielding } from '../apimachinery/index.ts';
import type { ManifestDocument, Position } from '../manifests/index.ts';
import { wrapDataKey } from './data-keys.ts';
import { MOST_RECIPIENTS } from './metadata.ts';
import { missingKey, type PgpKeys } from './pgp.ts';
import { SealingError } from './sealing-error.ts';
import { type CreationRule, placedSopsConfig } from './sops-config.ts';

export interface ConfigProblem extends Position {
  readonly message: string;
}

/** Every new file is compared with every rule, and the place of a problem takes a pass over the text. */
const LARGEST_SOPS_CONFIG = 64 * 1024;
const MOST_PROBLEMS = 100;

/** A problem whose place is not searched yet. */
interface Flaw {
  /** Below `creation_rules`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

interface RuleToTry {
  readonly index: number;
  readonly rule: CreationRule;
  /** Recipients of the rules before, and of this one once it is tried. */
  readonly tried: Set<string>;
}

const PLACED = /^(\d+):(\d+): ([\s\S]*)$/;

/** `ours`: recipients of this platform. Undefined: they are unknown here. */
export async function sopsConfigProblems(
  text: string,
  ours: readonly string[] | undefined,
  pgpKeys?: Pick<PgpKeys, 'has'>,
): Promise<ConfigProblem[]> {
  const bytes = Buffer.byteLength(text);
  if (bytes > LARGEST_SOPS_CONFIG) {
    const message = `The file has ${bytes} bytes; the limit is ${LARGEST_SOPS_CONFIG}`;
    return [{ line: 1, col: 1, message }];
  }
  try {
    const { document, rules } = placedSopsConfig(text);
    if (rules.length === 0) return [at(document, [], 'must hold at least one rule')];
    const found: Flaw[] = [];
    const tried = new Set<string>();
    const pauses = new Yielding();
    for (const [index, rule] of rules.entries()) {
      await pauses.take();
      const flaw = await flawOf(document, { index, rule, tried });
      if (flaw !== undefined) found.push(flaw);
    }
    const isUsable = ({ recipients }: CreationRule): boolean =>
      recipients.length === 0 || recipients.some((name) => ours?.includes(name));
    if (ours !== undefined) for (const flaw of missingPgp(rules, pgpKeys)) found.push(flaw);
    if (found.length > 0 || ours === undefined || rules.some(isUsable)) {
      return located(document, found);
    }
    return [at(document, [], noneOf(ours))];
  } catch (error) {
    if (!(error instanceof SealingError)) throw error;
    const [, line = '1', col = '1', message = error.message] = PLACED.exec(error.message) ?? [];
    return [{ line: Number(line), col: Number(col), message }];
  }
}

/** The first of them, and the number of the others at the place of the next. */
function located(document: ManifestDocument, found: readonly Flaw[]): ConfigProblem[] {
  const problems = found
    .slice(0, MOST_PROBLEMS)
    .map(({ path, message }) => at(document, path, message));
  const next = found[MOST_PROBLEMS];
  if (next === undefined) return problems;
  const more = `and ${found.length - MOST_PROBLEMS} more problems`;
  return [...problems, at(document, next.path, more)];
}

function noneOf([own = '']: readonly string[]): string {
  return `no rule names this platform, which could not read again what it encrypts; add it with "gitplane recipients add ${own}"`;
}

/** PGP keys without a public key here: no data key can be encrypted for them. */
function missingPgp(
  rules: readonly CreationRule[],
  keys: Pick<PgpKeys, 'has'> | undefined,
): Flaw[] {
  return rules.flatMap(({ pgp }, index) => {
    const fingerprint = pgp.find((name) => keys?.has(name) !== true);
    return fingerprint === undefined ? [] : [{ path: [index], message: missingKey(fingerprint) }];
  });
}

/** The first recipient of a rule for which no data key can be encrypted, unless an earlier rule names it. */
async function flawOf(
  document: ManifestDocument,
  { index, rule: { recipients }, tried }: RuleToTry,
): Promise<Flaw | undefined> {
  if (recipients.length > MOST_RECIPIENTS) {
    return { path: [index], message: `has more than ${MOST_RECIPIENTS} recipients` };
  }
  for (const recipient of recipients) {
    if (tried.has(recipient)) continue;
    tried.add(recipient);
    try {
      await wrapDataKey(PROBE, [recipient]);
    } catch (error) {
      if (!(error instanceof SealingError)) throw error;
      return { path: [index, ...ageOf(document, index)], message: error.message };
    }
  }
  return undefined;
}

/** A dummy data key. */
const PROBE = Buffer.alloc(32);

function ageOf({ value }: ManifestDocument, index: number): string[] {
  const rules = isRecord(value) ? value['creation_rules'] : undefined;
  const rule: unknown = Array.isArray(rules) ? rules[index] : undefined;
  return isRecord(rule) && rule['age'] !== undefined ? ['age'] : [];
}

function at(
  document: ManifestDocument,
  path: readonly (string | number)[],
  message: string,
): ConfigProblem {
  const full = ['creation_rules', ...path];
  const place = full.map((step, i) =>
    typeof step === 'number' ? `[${step}]` : i ? `.${step}` : step,
  );
  const { line, col } = document.locate(full);
  return { line, col, message: `${place.join('')}: ${message}` };
}

/** A rule, its place in the config, and the paths among the given ones for which it is the first. */
export interface PlacedRule {
  readonly line: number;
  readonly col: number;
  readonly rule: CreationRule;
  readonly paths: readonly string[];
}

/** The rules for the paths, which are relative to the folder of the config. Empty for a config with problems. */
export function rulesFor(text: string, paths: readonly string[]): PlacedRule[] {
  if (Buffer.byteLength(text) > LARGEST_SOPS_CONFIG) return [];
  try {
    const { document, rules } = placedSopsConfig(text);
    const first = (path: string): number =>
      rules.findIndex((rule) => rule.path === undefined || rule.path(path));
    const firsts = paths.map(first);
    return rules.flatMap((rule, index) => {
      const found = paths.filter((_, at) => firsts[at] === index);
      if (found.length === 0) return [];
      const { line, col } = document.locate(['creation_rules', index]);
      return [{ line, col, rule, paths: found }];
    });
  } catch (error) {
    if (error instanceof SealingError) return [];
    throw error;
  }
}
