/**
 * Rights of every access key, beside its roles and its scope: discover the API, and review its own
 * rights. kubectl cannot start without them, and they give access to no data. Kubernetes grants the same
 * by the roles `system:discovery`, `system:public-info-viewer` and `system:basic-user`.
 */
import type { PolicyRule } from './policy-rules.ts';

const NONE = { apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

function reviews(group: string, resources: string[]): PolicyRule {
  return { ...NONE, verbs: ['create'], apiGroups: [group], resources };
}

export const EVERY_KEYS_RULES: readonly PolicyRule[] = [
  {
    ...NONE,
    verbs: ['get'],
    nonResourceURLs: [
      '/api',
      '/api/*',
      '/apis',
      '/apis/*',
      '/healthz',
      '/livez',
      '/openapi',
      '/openapi/*',
      '/readyz',
      '/version',
      '/version/',
    ],
  },
  // The holder of a token may revoke it; revoking by id takes the right to delete tokens.
  { ...NONE, verbs: ['post'], nonResourceURLs: ['/token/revoke'] },
  reviews('authorization.k8s.io', ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']),
  reviews('authentication.k8s.io', ['selfsubjectreviews']),
];

/** Rights of every authenticated user, beside the roles. A scope removes what is added here. */
export const EVERYONES_RULES: readonly PolicyRule[] = [
  ...EVERY_KEYS_RULES,
  // Answers show each user the objects that its roles show.
  {
    ...NONE,
    verbs: ['get'],
    nonResourceURLs: [
      '/platform/settings',
      '/summary',
      '/search',
      '/costs',
      '/access/explain',
      '/access/who',
    ],
  },
];

/** Rights of `system:masters`, which writing an aggregationRule also takes. */
export const FULL_AUTHORITY: readonly PolicyRule[] = [
  { ...NONE, verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { ...NONE, verbs: ['*'], nonResourceURLs: ['*'] },
];
