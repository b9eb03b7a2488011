/** What signing in writes of users: the fields, who they are written by, and what comes of failures. */
import type { JsonObject, KubeObject } from '../../apimachinery/index.ts';
import { ownOptions, type WriteOptions } from '../../registry/index.ts';
import { type AdmittedIdentity, SignInError } from '../../sign-in/index.ts';

const MAIL = /^[^\s<>@]+@[^\s<>@]+$/;

export function userSpec(identity: AdmittedIdentity): JsonObject {
  const { username, preferredUsername, email, emailVerified, accountName, groups } = identity;
  const { connector, userId: subject, extraClaims } = identity;
  return {
    displayName: preferredUsername ?? username,
    username: accountName,
    // It signs commits, so nobody gets one that nobody checked.
    ...(email !== undefined && emailVerified && MAIL.test(email) ? { email } : {}),
    connector,
    subject,
    ...(groups.length === 0 ? {} : { ssoGroups: [...groups] }),
    ...(Object.keys(extraClaims).length === 0 ? {} : { extraClaims }),
  };
}

/** The user with what the provider says of groups and further claims. */
export function withClaims(
  user: KubeObject,
  { groups, extraClaims }: AdmittedIdentity,
): KubeObject {
  const { ssoGroups: before, extraClaims: _claims, ...spec } = user.spec ?? {};
  const had = Array.isArray(before) ? before : [];
  // In whatever order they are written.
  const same = had.length === groups.length && groups.every((group) => had.includes(group));
  return {
    ...user,
    spec: {
      ...spec,
      ...(same && before !== undefined ? { ssoGroups: before } : {}),
      ...(!same && groups.length > 0 ? { ssoGroups: [...groups] } : {}),
      ...(Object.keys(extraClaims).length === 0 ? {} : { extraClaims }),
    },
  };
}

export function writeOptions(
  user: string,
  { connector }: AdmittedIdentity,
  requestId: string | undefined,
): WriteOptions {
  const reason = `${user} signed in with ${connector}.`;
  const trailers = { 'Signed-In': user, Connector: connector };
  return ownOptions({ requestId, reason, trailers });
}

/** What cannot be written now says nothing about who may come in. */
export async function writing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new SignInError(`cannot write down who signed in: ${message}`, {
      reason: 'cannot-write',
      code: 503,
      cause,
    });
  }
}

export function disabledError(name: string): SignInError {
  return new SignInError(`user ${name} is disabled or gone`, {
    reason: 'user-disabled',
    code: 403,
  });
}

export function awaitingReviewError(name: string): SignInError {
  return new SignInError(`user ${name} waits for a review`, {
    reason: 'waits-for-review',
    code: 403,
  });
}

export function nameOf({ metadata }: KubeObject): string {
  return metadata.name ?? '';
}
