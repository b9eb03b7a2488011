/**
 * Access reviews: a create asks a question about access, and the status answers it (Kubernetes:
 * `authorization.k8s.io`, `authentication.k8s.io`). They are never stored and no manifest can hold
 * one, so the table of kinds does not have them.
 */
import { defineKind, type Kind } from '../kind.ts';

const AUTHORIZATION_GROUP = 'authorization.k8s.io';
const AUTHENTICATION_GROUP = 'authentication.k8s.io';

export const SELF_ACCESS_REVIEW = review(AUTHORIZATION_GROUP, 'SelfSubjectAccessReview');
export const ACCESS_REVIEW = review(AUTHORIZATION_GROUP, 'SubjectAccessReview');
export const LOCAL_ACCESS_REVIEW: Kind = {
  ...review(AUTHORIZATION_GROUP, 'LocalSubjectAccessReview'),
  scope: 'Namespaced',
};
export const SELF_RULES_REVIEW = review(AUTHORIZATION_GROUP, 'SelfSubjectRulesReview');
export const SELF_REVIEW = review(AUTHENTICATION_GROUP, 'SelfSubjectReview');
export const TOKEN_REVIEW = review(AUTHENTICATION_GROUP, 'TokenReview');

/** In the order of discovery. */
export const REVIEWS: readonly Kind[] = [
  LOCAL_ACCESS_REVIEW,
  SELF_ACCESS_REVIEW,
  SELF_RULES_REVIEW,
  ACCESS_REVIEW,
  SELF_REVIEW,
  TOKEN_REVIEW,
];

function review(group: string, kind: string): Kind {
  const singular = kind.toLowerCase();
  return defineKind({
    group,
    kind,
    plural: `${singular}s`,
    singular,
    scope: 'Cluster',
    schema: singular,
    verbs: ['create'],
    strategicMerge: true,
    storedIn: 'nowhere',
  });
}
