/**
 * Values of a write that `.sops.yaml` encrypts beside the secret fields of the kind, also where the
 * write is refused and no file encrypts them: the audit log masks them in every request.
 */

import type { JsonObject } from '../../apimachinery/index.ts';
import { besideSecrets, type Kind, type SecretPaths } from '../../kinds/index.ts';
import { defaultPath, fanOutPaths } from '../../manifests/index.ts';
import { type CreationRule, type Rule, SealingError } from '../../sealing/index.ts';
import type { Branch } from '../branch.ts';
import type { SealedPlace } from './creation-rules.ts';
import { fieldsOfRule, selectedPlaces } from './rule-places.ts';
import { keyOf } from './write-context.ts';

export interface PlannedWrite {
  readonly kind: Kind;
  readonly namespace: string;
  /** Undefined: the server chooses the name. */
  readonly name: string | undefined;
  /** The object, or parts of it. */
  readonly parts: readonly JsonObject[];
}

interface Context {
  readonly branch: Pick<Branch, 'state' | 'sealer' | 'under'>;
  readonly repository: SealedPlace['repository'];
}

export class PlannedEncryption {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Reads `.sops.yaml`, so that the first write need not be answered without it. Never rejects. */
  async read(): Promise<void> {
    const { repository, branch } = this.#context;
    const { state, sealer, under } = branch;
    const place = { path: defaultPath(under, 'any', ANY), sealing: state.view.sealing, repository };
    await sealer?.rules.ruleFor(place).catch(() => undefined);
  }

  /**
   * Paths of the values in the parts. Empty: the rule concerns the kind, and selects none of them.
   * Undefined: nothing is encrypted by a rule. `unknown`: the rule is not read yet, or cannot be used.
   */
  pathsOf({ kind, namespace, name, parts }: PlannedWrite): SecretPaths | 'unknown' | undefined {
    const { state, sealer } = this.#context.branch;
    if (kind.storedIn !== 'git' || sealer === undefined || state.view.sealing === undefined) {
      return undefined;
    }
    try {
      const rules = this.#rulesFor(kind, { namespace, name });
      if (rules === 'unread') {
        void this.read();
        return 'unknown';
      }
      const places = rules.flatMap((rule) => parts.flatMap((part) => selectedPlaces(rule, part)));
      const found = besideSecrets(kind, places);
      return found ?? (rules.some((rule) => concerns(rule, kind)) ? [] : undefined);
    } catch (error) {
      if (error instanceof SealingError) return 'unknown';
      throw error;
    }
  }

  /** Rules of the places where the object is or may go, or of all places without a name. */
  #rulesFor(kind: Kind, named: Pick<PlannedWrite, 'namespace' | 'name'>): Rule[] | 'unread' {
    const { state, sealer, under } = this.#context.branch;
    const { sealing } = state.view;
    const { namespace, name } = named;
    if (name === undefined || name === '')
      return fieldRules(sealer?.rules.knownRules({ sealing }) ?? []);
    const key = keyOf({ kind, namespace, name });
    const current = state.catalog.object(key)?.place.path;
    const paths = fanOutPaths(defaultPath(under, kind.plural, key));
    const found: CreationRule[] = [];
    for (const path of current === undefined ? paths : [current, ...paths]) {
      const rule = sealer?.rules.knownRuleFor({ path, sealing });
      if (rule === 'unread') return rule;
      if (rule !== undefined) found.push(rule);
    }
    return fieldRules(found);
  }
}

const ANY = { namespace: '', name: 'any' };

function fieldRules(rules: readonly CreationRule[] | 'unread'): Rule[] | 'unread' {
  if (rules === 'unread') return rules;
  return [...new Set(rules.flatMap(({ namesFields, rule }) => (namesFields ? [rule] : [])))];
}

/** True if the rule selects a field of the kind: a value at a wrong place may be meant for it. */
function concerns(rule: Rule, kind: Kind): boolean {
  return besideSecrets(kind, fieldsOfRule(rule, kind)) !== undefined;
}
