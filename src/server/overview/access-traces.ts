/** Grants as one caller may see them: bindings, roles, objects and teams that it may read. */
import {
  type Attributes,
  isRecord,
  jsonEqual,
  listAt,
  noSuchRoute,
  notFound,
  type User,
} from '../../apimachinery/index.ts';
import { type AccessTrace, teamOfGroup } from '../../auth/index.ts';
import {
  CLUSTER_ROLE,
  CLUSTER_ROLE_BINDING,
  type Kind,
  ROLE,
  ROLE_BINDING,
} from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { AskedAs } from './access-question.ts';
import { namesOf } from './summary.ts';
import type { Visibility } from './visibility.ts';

const MOST_MEMBERS = 100;
const PLURALS = { user: 'users', team: 'teams', key: 'ownedaccesskeys' } as const;

export class TraceView {
  readonly #deps: ServerDependencies;
  readonly #seen: Visibility;
  readonly #attributes: Attributes;

  constructor(deps: ServerDependencies, seen: Visibility, attributes: Attributes) {
    this.#deps = deps;
    this.#seen = seen;
    this.#attributes = attributes;
  }

  /** Undefined: the caller may not read what grants the right. */
  shown(trace: AccessTrace): object | undefined {
    const { subject } = trace;
    const team = subject.kind === 'Group' ? teamOfGroup(subject.name) : undefined;
    if (team !== undefined && !this.#maySeeTeam(team)) return undefined;
    if (trace.via === 'builtin') return { via: trace.via };
    return trace.via === 'binding' ? this.#binding(trace) : this.#access(trace);
  }

  /**
   * The user that a request of the user, team or key has. Throws 404, also where the caller may not see
   * the object: the answer does not say if it exists.
   */
  userOf({ kind, name }: AskedAs): User {
    const of = this.#kind(PLURALS[kind]);
    if (of === undefined) throw noSuchRoute();
    const isSeen = this.#seen.maySee(of, { namespace: '', name });
    const user = isSeen ? this.#deps.identities[kind](name) : undefined;
    if (user === undefined) throw notFound(of, name);
    return user;
  }

  /** Groups of another user whose source the caller may read. */
  visibleGroups({ name, groups }: User): readonly string[] {
    const users = this.#kind('users');
    const ofUser = users !== undefined && this.#seen.maySee(users, { namespace: '', name });
    return groups.filter((group) => {
      const team = teamOfGroup(group);
      return team === undefined ? ofUser : this.#maySeeTeam(team);
    });
  }

  /** Users of a team, for a subject that is the group of a team. */
  membersOf({ kind, name }: AccessTrace['subject']): object {
    const team = kind === 'Group' ? teamOfGroup(name) : undefined;
    if (team === undefined) return {};
    const { users = [], groups = [] } = this.#deps.identities.members(team) ?? {};
    return {
      team,
      members: users.slice(0, MOST_MEMBERS),
      memberCount: users.length,
      ...(groups.length === 0 ? {} : { memberGroups: groups.slice(0, MOST_MEMBERS) }),
    };
  }

  get #group(): string {
    return this.#deps.kinds.groups[0] ?? '';
  }

  #kind(plural: string): Kind | undefined {
    return this.#deps.kinds.byPlural(this.#group, plural);
  }

  #maySeeTeam(name: string): boolean {
    const teams = this.#kind('teams');
    return teams !== undefined && this.#seen.maySee(teams, { namespace: '', name });
  }

  #binding({ binding, role, rule }: Extract<AccessTrace, { via: 'binding' }>): object | undefined {
    const kind = binding.namespace === '' ? CLUSTER_ROLE_BINDING : ROLE_BINDING;
    if (!this.#seen.maySee(kind, binding)) return undefined;
    const roleKind = role.namespace === '' ? CLUSTER_ROLE : ROLE;
    return {
      via: 'binding',
      binding: namesOf(kind, binding),
      role: namesOf(roleKind, role),
      ...(this.#maySeeRule(roleKind, role, rule) ? { rule } : {}),
    };
  }

  /** A rule of an aggregated role belongs to another role, which the caller may not see. */
  #maySeeRule(kind: Kind, key: { namespace: string; name: string }, rule: object): boolean {
    if (!this.#seen.maySee(kind, key)) return false;
    const stored = this.#deps.store.get({ group: kind.group, kind: kind.kind, ...key });
    const rules = listAt<unknown>(stored?.object, ['rules']).filter(isRecord);
    return rules.some((one) =>
      Object.entries(one).every(([field, value]) => {
        const other: unknown = Reflect.get(rule, field);
        return jsonEqual(value, other);
      }),
    );
  }

  #access({ title }: Extract<AccessTrace, { via: 'object' }>): object | undefined {
    if ('path' in this.#attributes) return undefined;
    const { group, resource, namespace, name } = this.#attributes;
    const kind = this.#deps.kinds.byPlural(group, resource);
    if (kind === undefined || !this.#seen.maySee(kind, { namespace, name })) return undefined;
    return { via: 'object', object: namesOf(kind, { namespace, name }), rule: title };
  }
}
