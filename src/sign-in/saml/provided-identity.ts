/** Identity of an assertion, from the configured attributes (spec 2.8.7). */
import type { SAMLConfig } from '../../config/index.ts';
import type { ProvidedIdentity } from '../connector.ts';
import { Refusal } from './refusal.ts';
import type { AssertionFacts } from './worker-messages.ts';

type Mapping = Pick<
  SAMLConfig,
  'usernameAttr' | 'emailAttr' | 'groupsAttr' | 'groupsDelim' | 'allowedGroups' | 'filterGroups'
>;

/** `isProven`: the assertion was signed. Throws Refusal. */
export function providedIdentity(
  facts: AssertionFacts,
  mapping: Mapping,
  isProven: boolean,
): ProvidedIdentity {
  return {
    userId: facts.nameId,
    username: oneValue(facts, mapping.usernameAttr, 'user name'),
    email: oneValue(facts, mapping.emailAttr, 'mail address'),
    emailVerified: isProven,
    ...(isProven ? {} : { isUnchecked: true }),
    groups: groupsIn(facts, mapping),
    extraClaims: {},
  };
}

function oneValue(facts: AssertionFacts, name: string | undefined, what: string): string {
  const value = valuesOf(facts, name)?.find((text) => text.trim() !== '');
  if (value === undefined) {
    throw new Refusal(`it has no attribute for the ${what}`, { reason: 'no-attribute', code: 502 });
  }
  return value.trim();
}

/** Values of all attributes of the name; undefined: there is none. */
function valuesOf(facts: AssertionFacts, name: string | undefined): string[] | undefined {
  const found = facts.attributes.filter(([own]) => name !== undefined && own === name);
  return found.length === 0 ? undefined : found.flatMap(([, values]) => values);
}

function groupsIn(facts: AssertionFacts, mapping: Mapping): string[] {
  const { groupsAttr, groupsDelim, allowedGroups = [], filterGroups } = mapping;
  const values = groupsAttr ? valuesOf(facts, groupsAttr) : [];
  if (values === undefined) {
    throw new Refusal('it has no attribute for the groups', { reason: 'no-attribute', code: 502 });
  }
  const texts = groupsDelim ? values.flatMap((text) => text.split(groupsDelim)) : values;
  const groups = texts
    .map((text) => (groupsDelim ? text.trim() : text))
    .filter((text) => text !== '');
  if (allowedGroups.length === 0) return groups;
  const allowed = groups.filter((group) => allowedGroups.includes(group));
  if (allowed.length === 0) {
    throw new Refusal('the person is in none of the groups that may sign in', {
      reason: 'not-a-member',
      code: 403,
    });
  }
  return filterGroups === true ? allowed : groups;
}
