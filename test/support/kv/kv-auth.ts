/**
 * Auth methods of the store in memory: AppRole, Kubernetes, JWT and userpass, as far as their
 * logins. A method is a function from the fields of a login to the token that it gives.
 */
import { randomUUID } from 'node:crypto';
import { errors, type KvAnswer } from './kv-mount.ts';
import type { KvStore, KvToken } from './kv-store.ts';

export type KvLogin = (fields: Readonly<Record<string, string>>) => Partial<KvToken> | KvAnswer;

/** One token of an hour, renewable, unless a test says otherwise. */
type Issued = Partial<KvToken>;

const HOUR: Issued = { ttl: 3600, creationTtl: 3600 };

export function appRoleLogin(roleId: string, secretId: string, token: Issued = {}): KvLogin {
  return ({ role_id, secret_id }) =>
    role_id === roleId && secret_id === secretId
      ? { ...HOUR, ...token }
      : errors(400, 'invalid role or secret ID');
}

export function userpassLogin(expected: string, token: Issued = {}): KvLogin {
  return ({ password }) =>
    password === expected ? { ...HOUR, ...token } : errors(400, 'invalid username or password');
}

/** Takes the JWTs for which `isValid`. */
export function jwtLogin(
  role: string,
  isValid: (jwt: string) => boolean,
  token: Issued = {},
): KvLogin {
  return (fields) =>
    fields['role'] === role && isValid(fields['jwt'] ?? '')
      ? { ...HOUR, ...token }
      : errors(400, 'error validating token: invalid signature');
}

/** As `jwtLogin`; the TokenReview of the cluster is refused in other words. */
export function kubernetesLogin(
  role: string,
  isValid: (jwt: string) => boolean,
  token: Issued = {},
): KvLogin {
  return (fields) =>
    fields['role'] === role && isValid(fields['jwt'] ?? '')
      ? { ...HOUR, ...token }
      : errors(403, 'permission denied');
}

/** The answer to a login: a new token of the store. */
export function loginAnswer(store: KvStore, login: KvLogin, body: string): KvAnswer {
  const given = login(JSON.parse(body === '' ? '{}' : body));
  if (isAnswer(given)) return given;
  const name = `s.${randomUUID()}`;
  const { ttl, renewable } = store.token(name, given);
  const auth = { client_token: name, accessor: randomUUID(), lease_duration: ttl, renewable };
  return { status: 200, body: { auth } };
}

function isAnswer(given: Partial<KvToken> | KvAnswer): given is KvAnswer {
  return 'status' in given;
}
