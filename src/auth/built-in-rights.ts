/**
 * What every authenticated user may do, whatever the roles say: discover the API and ask about
 * themselves. kubectl cannot start without it, and nothing of it is data (Kubernetes grants the
 * same by its default roles `system:discovery`, `system:public-info-viewer`, `system:basic-user`).
 */
import type { PolicyRule } from './policy-rules.ts';

const NONE = { apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

function reviews(group: string, resources: string[]): PolicyRule {
  return { ...NONE, verbs: ['create'], apiGroups: [group], resources };
}

export const EVERYONES_RULES: readonly PolicyRule[] = [
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
      '/platform/settings',
      '/readyz',
      '/version',
      '/version/',
    ],
  },
  // Who shows a token may end it; ending it by its id takes the right to delete tokens.
  { ...NONE, verbs: ['post'], nonResourceURLs: ['/token/revoke'] },
  reviews('authorization.k8s.io', ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']),
  reviews('authentication.k8s.io', ['selfsubjectreviews']),
];

/** Members of `system:masters`, and the price of writing an aggregationRule. */
export const FULL_AUTHORITY: readonly PolicyRule[] = [
  { ...NONE, verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { ...NONE, verbs: ['*'], nonResourceURLs: ['*'] },
];
