/** Names of RBAC objects: as in Kubernetes, but for those that the platform makes itself. */
import { pathSegmentProblems } from '../../apimachinery/index.ts';
import { GRANT_PREFIX } from '../access/access-grants.ts';

export function rbacNameProblems(name: string): string[] {
  if (!name.startsWith(GRANT_PREFIX)) return pathSegmentProblems(name);
  return [`must not begin with "${GRANT_PREFIX}": such objects follow from access rules`];
}
