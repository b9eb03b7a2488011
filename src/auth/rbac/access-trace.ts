/** Grants as the chain that leads to a right: from a user or group by a binding to a rule of a role. */
import type { User } from '../../apimachinery/index.ts';
import { TEAM_GROUP } from '../identity/reserved-names.ts';
import type { Subject } from './binding-index.ts';
import type { PolicyRule } from './policy-rules.ts';
import type { RoleKey } from './role-index.ts';

interface Name {
  readonly namespace: string;
  readonly name: string;
}

/** One grant that allows a request. */
export type AccessTrace = { readonly subject: Subject } & (
  | { readonly via: 'builtin' }
  | {
      readonly via: 'binding';
      /** A binding without a namespace is a ClusterRoleBinding, a role without one a ClusterRole. */
      readonly binding: Name;
      readonly role: RoleKey;
      readonly rule: PolicyRule;
    }
  /** Owner or access rule of the object itself. */
  | { readonly via: 'object'; readonly title: string }
);

export function isGrantedTo({ subject }: AccessTrace, { name, groups }: User): boolean {
  return subject.kind === 'Group' ? groups.includes(subject.name) : subject.name === name;
}

/** Name of the team whose members have a group; undefined for other groups. */
export function teamOfGroup(group: string): string | undefined {
  return group.startsWith(TEAM_GROUP) ? group.slice(TEAM_GROUP.length) : undefined;
}
