/** Names of RBAC objects, as in Kubernetes. Prefix `gitplane:access:` is reserved for derived objects. */
import { pathSegmentProblems } from '../../apimachinery/index.ts';
import { GRANT_PREFIX } from '../access/access-grants.ts';

export function rbacNameProblems(name: string): string[] {
  if (!name.startsWith(GRANT_PREFIX)) return pathSegmentProblems(name);
  return [`must not begin with "${GRANT_PREFIX}": such objects follow from access rules`];
}
