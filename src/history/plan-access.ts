/**
 * Access that a planned change opens or closes: grants of owners and access rules, rules of roles,
 * subjects of bindings, and memberships. It compares one object with itself, so that a change of a
 * role names the role, and not everyone who has it.
 */
import { isRecord, type KubeObject, listAt, valueAt } from '../apimachinery/index.ts';
import { accessGrants, type Kind, RBAC_GROUP, subjectsOf } from '../kinds/index.ts';

interface Subject {
  readonly kind: string;
  readonly name: string;
}

export interface AccessChange {
  readonly effect: 'opens' | 'closes';
  /** User or group that gains or loses; absent: everyone with the changed role. */
  readonly subject?: Subject;
  /** Verbs on the object itself, or on what a rule of a role names. */
  readonly rule?: {
    readonly verbs: readonly string[];
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly nonResourceURLs?: readonly string[];
  };
  /** Role that a binding gives: `ClusterRole/admin`. */
  readonly role?: string;
  /** User or group whose rights a member gets. */
  readonly rightsOf?: string;
}

type Right = Omit<AccessChange, 'effect'>;

const MOST_LISTED = 200;
/** Listed verbs, resources or names of one rule. */
const MOST_WORDS = 100;
/** Characters of a listed verb, resource or name. */
const LONGEST_WORD = 256;

/** In the order: closed, then opened. Long lists are cut. */
export function accessChanges(
  kind: Kind,
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): AccessChange[] {
  // Many subjects share a rule, whose text would be repeated for each.
  const rules = new RuleNumbers();
  const [had, has] = [before, after].map((version) => rightsById(rules, kind, version));
  const lost = without(had, has).map((right) => ({ effect: 'closes', ...right }) as const);
  const won = without(has, had).map((right) => ({ effect: 'opens', ...right }) as const);
  return withCutRules([...lost, ...won].slice(0, MOST_LISTED));
}

/** `opens: User ada: get, update on the object`. */
export function describeAccess({ effect, subject, rule, role, rightsOf }: AccessChange): string {
  const who = subject === undefined ? 'everyone with the role' : `${subject.kind} ${subject.name}`;
  const targets = [...(rule?.resources ?? []), ...(rule?.nonResourceURLs ?? [])].join(', ');
  const names = rule?.resourceNames === undefined ? '' : ` named ${rule.resourceNames.join(', ')}`;
  const rights =
    rightsOf === undefined
      ? `${rule?.verbs.join(', ')} on ${targets}${names}`
      : `the rights of ${rightsOf}`;
  return `${effect}: ${who}: ${role ?? rights}`;
}

type Rights = readonly (readonly [id: string, right: Right])[];

function rightsById(rules: RuleNumbers, kind: Kind, object: KubeObject | undefined): Rights {
  return rightsIn(kind, object).map((right) => {
    const { rule, ...others } = right;
    return [`${rules.of(rule)} ${JSON.stringify(others)}`, right];
  });
}

/** The same number for equal rules. */
class RuleNumbers {
  readonly #byRule = new Map<Right['rule'], number>();
  readonly #byText = new Map<string, number>();

  of(rule: Right['rule']): number {
    const known = this.#byRule.get(rule);
    if (known !== undefined) return known;
    const text = JSON.stringify(rule) ?? '';
    const number = this.#byText.get(text) ?? this.#byText.size;
    this.#byText.set(text, number);
    this.#byRule.set(rule, number);
    return number;
  }
}

function without(rights: Rights = [], others: Rights = []): Right[] {
  const known = new Set(others.map(([id]) => id));
  return rights.flatMap(([id, right]) => (known.has(id) ? [] : [right]));
}

/** Changes with the same rule share the cut one too. */
function withCutRules(changes: readonly AccessChange[]): AccessChange[] {
  const cut = new Map<Right['rule'], Right['rule']>();
  return changes.map((change) => {
    const { rule, role } = change;
    if (rule !== undefined && !cut.has(rule)) cut.set(rule, cutRule(rule));
    const short = cut.get(rule);
    return {
      ...change,
      ...(short === undefined ? {} : { rule: short }),
      ...(role === undefined ? {} : { role: cutWord(role) }),
    };
  });
}

function cutRule(rule: NonNullable<Right['rule']>): Right['rule'] {
  const lists = Object.entries(rule).map(([field, words]) => [field, firstOf(words)]);
  return { ...rule, ...Object.fromEntries(lists) };
}

function firstOf(words: readonly string[]): readonly string[] {
  const more = words.length - MOST_WORDS;
  const first = words.slice(0, MOST_WORDS).map(cutWord);
  return more > 0 ? [...first, `… and ${more} more`] : first;
}

function cutWord(word: string): string {
  return word.length <= LONGEST_WORD ? word : `${word.slice(0, LONGEST_WORD - 1)}…`;
}

function rightsIn(kind: Kind, object: KubeObject | undefined): Right[] {
  if (object === undefined) return [];
  return [
    ...accessGrants(kind, object).flatMap(({ rule: { verbs, resources }, subjects }) => {
      const rule = { verbs, resources };
      return subjects.map(({ kind: of, name }) => ({ subject: { kind: of, name }, rule }));
    }),
    ...kind.memberships(object).flatMap(({ member, rightsOf: { users, groups } }) => {
      const subject = memberOf(member, object);
      const others = [...users, ...groups].filter((name) => !isOneself(subject, name));
      return others.map((rightsOf) => ({ subject, rightsOf }));
    }),
    ...(kind.group === RBAC_GROUP ? [...rulesIn(object), ...bindingIn(object)] : []),
  ];
}

/** A user has its own rights, and so have the managers of a team. */
function isOneself({ kind, name }: Subject, rightsOf: string): boolean {
  return rightsOf === name || rightsOf === `gitplane:${kind.toLowerCase()}:${name}`;
}

/** `user ada` or `group ops`, as kinds describe members; otherwise the object itself. */
function memberOf(member: string, { kind, metadata }: KubeObject): Subject {
  const [, of, name = ''] = /^(user|group) (.*)$/s.exec(member) ?? [];
  if (of === undefined) return { kind, name: metadata.name ?? '' };
  return { kind: of === 'user' ? 'User' : 'Group', name };
}

function rulesIn(object: KubeObject): Right[] {
  return listAt<unknown>(object, ['rules'])
    .filter(isRecord)
    .map((rule) => {
      const of = (field: string): readonly string[] => texts(rule[field]);
      const optional = (field: string) => (of(field).length === 0 ? {} : { [field]: of(field) });
      return {
        rule: {
          verbs: of('verbs'),
          ...optional('resources'),
          ...optional('resourceNames'),
          ...optional('nonResourceURLs'),
        },
      };
    });
}

function bindingIn(object: KubeObject): Right[] {
  const role = ['kind', 'name'].map((field) => valueAt(object, ['roleRef', field])).join('/');
  return subjectsOf(object).map(({ kind, name }) => ({
    subject: { kind: String(kind), name: String(name) },
    role,
  }));
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
