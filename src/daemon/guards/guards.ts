/** Rules beyond validation that every change must pass, from the API and from pushes alike. */
import type { Clock } from '../../apimachinery/index.ts';
import { delegationProblem, escalationProblem, type KeyLifetimeLimits } from '../../auth/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { Guard } from '../../registry/index.ts';
import type { Store } from '../../state/index.ts';
import type { AccessControl } from '../access/access-control.ts';
import { accessRoleGuard, subresourceGuard } from './access-rules-guards.ts';
import { clusterRolesGuard } from './cluster-roles-guard.ts';
import { copiedDataGuard } from './copied-data-guard.ts';
import { derivedSecretGuard } from './derived-secret-guard.ts';
import { type FormerClusters, formerClusterGuard } from './former-cluster-guard.ts';
import { impersonationGuard } from './impersonation-guard.ts';
import { keyGuard } from './key-guard.ts';
import { kubeconfigGuard } from './kubeconfig-guard.ts';
import { membershipGuard } from './membership-guard.ts';
import { ownerReferenceGuard } from './owner-reference-guard.ts';
import { reversePathGuard } from './reverse-path-guard.ts';
import { scopeGuard } from './scope-guard.ts';
import { storeLinkGuard } from './store-link-guard.ts';
import { teamBindingGuard } from './team-binding-guard.ts';

export interface GuardParts {
  readonly kinds: KindTable;
  readonly access: AccessControl;
  readonly limits: () => KeyLifetimeLimits;
  readonly clock: Clock;
  readonly store: Pick<Store, 'list' | 'get' | 'resourceVersion'>;
  /** Undefined until the clusters are open, which is before requests are answered. */
  readonly formerClusters?: { current: FormerClusters | undefined };
}

export function writeGuards(parts: GuardParts): readonly Guard[] {
  const { kinds, access, store } = parts;
  const { authorizer, rules, directory } = access;
  const [group = ''] = kinds.groups;
  return [
    ({ user, object, old }) => object && escalationProblem(rules, { user, object, old }),
    teamBindingGuard(rules, group),
    ({ user, kind, object, old }) =>
      object && delegationProblem(rules, { user, kind, object, old }),
    accessRoleGuard,
    subresourceGuard,
    ownerReferenceGuard(kinds, authorizer),
    derivedSecretGuard(kinds, { authorizer, store }),
    copiedDataGuard(kinds, store),
    impersonationGuard(authorizer),
    membershipGuard({ rights: rules, directory, group }),
    clusterRolesGuard(rules, group),
    scopeGuard(parts),
    keyGuard(parts),
    kubeconfigGuard(rules),
    formerClusterGuard(authorizer, () => parts.formerClusters?.current),
    reversePathGuard,
    storeLinkGuard(authorizer),
  ];
}
