/** Writes of sign-in to users: the spec, the commit metadata, and the errors. */
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
    // The address is used as commit author, so only a verified one is taken.
    ...(email !== undefined && emailVerified && MAIL.test(email) ? { email } : {}),
    connector,
    subject,
    ...(groups.length === 0 ? {} : { ssoGroups: [...groups] }),
    ...(Object.keys(extraClaims).length === 0 ? {} : { extraClaims }),
  };
}

/** The user with the groups and claims of the provider. */
export function withClaims(
  user: KubeObject,
  { groups, extraClaims }: AdmittedIdentity,
): KubeObject {
  const { ssoGroups: before, extraClaims: _claims, ...spec } = user.spec ?? {};
  const had = Array.isArray(before) ? before : [];
  // Order does not matter.
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

/** Runs a write. Its failure is a 503, since it says nothing about the rights of the user. */
export async function writing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new SignInError(`cannot write the user: ${message}`, {
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

export function endedError(name: string): SignInError {
  return new SignInError(`the login of ${name} ended while its key was written`, {
    reason: 'ended-meanwhile',
    code: 403,
  });
}

export function awaitingReviewError(name: string): SignInError {
  return new SignInError(`user ${name} awaits a review`, {
    reason: 'waits-for-review',
    code: 403,
  });
}
