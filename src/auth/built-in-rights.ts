/**
 * Rights of every access key, beside its roles and its scope: discover the API and ask about
 * itself. kubectl cannot start without it, and nothing of it is data (Kubernetes grants the
 * same by its default roles `system:discovery`, `system:public-info-viewer`, `system:basic-user`).
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
  // Who shows a token may end it; ending it by its id takes the right to delete tokens.
  { ...NONE, verbs: ['post'], nonResourceURLs: ['/token/revoke'] },
  reviews('authorization.k8s.io', ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']),
  reviews('authentication.k8s.io', ['selfsubjectreviews']),
];

/** Rights of every authenticated user, beside the roles. A scope takes away what is added here. */
export const EVERYONES_RULES: readonly PolicyRule[] = [
  ...EVERY_KEYS_RULES,
  { ...NONE, verbs: ['get'], nonResourceURLs: ['/platform/settings'] },
];

/** Members of `system:masters`, and the price of writing an aggregationRule. */
export const FULL_AUTHORITY: readonly PolicyRule[] = [
  { ...NONE, verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { ...NONE, verbs: ['*'], nonResourceURLs: ['*'] },
];
