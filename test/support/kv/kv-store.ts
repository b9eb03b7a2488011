/**
 * A secret store in memory: namespaces, mounts, tokens, seals, quotas. What a test wants to go
 * wrong is a field of it. `handle` is a request; test/support/kv-server.ts puts HTTP in front.
 */
import type { StoreRequest, StoreResponse } from '../../../src/secret-store-client/transport.ts';
import { type KvLogin, loginAnswer } from './kv-auth.ts';
import { errors, type KvAnswer, KvMount } from './kv-mount.ts';
import type { RateVerdict } from './rate-limit.ts';

export interface KvToken {
  ttl: number;
  creationTtl: number;
  renewable: boolean;
  numUses: number;
  type: 'service' | 'batch';
  /** Whether it has the policy `default`, and so may look itself up. */
  hasDefault: boolean;
  /** Whether its policies lack an operation. */
  denies: (method: string, path: string) => boolean;
  renewals: number;
  /** What a renewal gives: less than the first time where the longest life is near. */
  renewedTtl?: number;
}

export interface KvStoreOptions {
  readonly now?: () => string;
  readonly lag?: () => number;
}

export class KvStore {
  /** By namespace (the root is empty), then by path with its slash at the end. */
  readonly mounts = new Map<string, Map<string, KvMount>>([['', new Map()]]);
  readonly tokens = new Map<string, KvToken>();
  /** Logins by the path of the request, as in `auth/approle/login`. */
  readonly logins = new Map<string, KvLogin>();
  readonly requests: { readonly method: string; readonly path: string }[] = [];
  isSealed = false;
  isInitialized = true;
  readonly sealedNamespaces = new Set<string>();
  /** As Vault's community edition does. */
  ignoresNamespaces = false;
  /** How many of the next requests meet the quota, and what they are told. */
  quota = { left: 0, retryAfter: undefined as string | undefined };
  /** Judges each request; absent: there is no quota. */
  limit: (() => RateVerdict) | undefined;
  /** Answers to give in place of the store's own, one each; undefined: the store answers. */
  readonly scripted: (StoreResponse | undefined)[] = [];
  mostStrings = 1000;
  /** True if the node that answers says that it is a standby. */
  isStandby = false;
  readonly #options: KvStoreOptions;

  constructor(options: KvStoreOptions = {}) {
    this.#options = options;
  }

  mount(path: string, version: 1 | 2 = 2, namespace = ''): KvMount {
    const { now = risingTime(), lag = () => 0 } = this.#options;
    const mount = new KvMount({ version, now, lag });
    const mounts = this.mounts.get(namespace) ?? new Map<string, KvMount>();
    this.mounts.set(namespace, mounts.set(path, mount));
    return mount;
  }

  token(name: string, fields: Partial<KvToken> = {}): KvToken {
    const token: KvToken = {
      ttl: 0,
      creationTtl: 0,
      renewable: true,
      numUses: 0,
      type: 'service',
      hasDefault: true,
      denies: () => false,
      renewals: 0,
      ...fields,
    };
    this.tokens.set(name, token);
    return token;
  }

  handle(request: StoreRequest): StoreResponse {
    const scripted = this.scripted.shift();
    const url = new URL(request.path, 'http://store');
    const path = decodeURIComponent(url.pathname).replace(/^\/v1\//, '');
    this.requests.push({ method: request.method, path: url.pathname + url.search });
    if (scripted !== undefined) return scripted;
    const verdict = this.limit?.();
    if (verdict?.isAllowed === false) {
      return { ...rendered(errors(429, OVER_QUOTA)), headers: verdict.headers };
    }
    if (this.quota.left > 0 && path !== 'sys/health') {
      this.quota.left -= 1;
      const { retryAfter } = this.quota;
      const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      return { ...rendered(errors(429, OVER_QUOTA)), headers };
    }
    const answer = rendered(this.#answer(request, path, url.searchParams));
    return verdict === undefined ? answer : { ...answer, headers: verdict.headers };
  }

  #answer(request: StoreRequest, path: string, query: URLSearchParams): KvAnswer {
    const { headers, method, body = '' } = request;
    const namespace = (headers['x-vault-namespace'] ?? '').replace(/^root$/, '');
    const home = this.ignoresNamespaces ? '' : namespace;
    if (path === 'sys/health') return this.#health();
    if (!this.isInitialized) return errors(501, 'Vault is not initialized');
    if (this.isSealed) return errors(503, 'Vault is sealed');
    if (this.sealedNamespaces.has(home)) return errors(503, 'namespace is sealed');
    const mounts = this.mounts.get(home);
    if (mounts === undefined) return errors(404, 'namespace not found');
    const login = method === 'POST' ? this.logins.get(path) : undefined;
    if (login !== undefined) return loginAnswer(this, login, body);
    const name = headers['x-vault-token'] ?? '';
    const token = this.tokens.get(name);
    if (token === undefined) return errors(403, 'permission denied');
    if (path === 'auth/token/revoke-self') {
      this.tokens.delete(name);
      return { status: 204 };
    }
    if (path.startsWith('auth/token/')) return tokenAnswer(token, path);
    if (path === 'sys/capabilities-self')
      return token.hasDefault ? { status: 200, body: { data: {} } } : DENIED;
    if (path.startsWith('sys/mounts/')) return this.#mounting(method, path.slice(11), home, body);
    if (path.startsWith('sys/internal/ui/mounts/')) {
      const below = path.slice(23);
      return token.denies('GET', `${below}/`) ? unseen(below) : mountAnswer(mounts, below);
    }
    if (token.denies(method, path)) return DENIED;
    const [at, mount] = [...mounts].find(([prefix]) => path.startsWith(prefix)) ?? [];
    if (at === undefined || mount === undefined)
      return errors(404, `no handler for route "${path}". route entry not found.`);
    const strings = body.match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0;
    if (strings > this.mostStrings) return errors(400, TOO_COMPLEX);
    if (method === 'PATCH' && headers['content-type'] !== MERGE_PATCH)
      return errors(415, `PATCH requires Content-Type of ${MERGE_PATCH}`);
    return mount.handle(method, path.slice(at.length), query, body);
  }

  #mounting(method: string, path: string, namespace: string, body: string): KvAnswer {
    const at = `${path}/`;
    if (method === 'DELETE') this.mounts.get(namespace)?.delete(at);
    else this.mount(at, JSON.parse(body).options?.version === '2' ? 2 : 1, namespace);
    return { status: 204 };
  }

  #health(): KvAnswer {
    return {
      status: 200,
      body: {
        initialized: this.isInitialized,
        sealed: this.isSealed,
        standby: this.isStandby,
        version: '2.4.4',
      },
    };
  }
}

const OVER_QUOTA = 'request path "x": rate limit quota exceeded';
/** What a policy says; of a token that is not known only the middle is said. */
const DENIED = errors(403, '1 error occurred:\n\t* permission denied\n\n');
const TOO_COMPLEX = 'refused JSON input due to high complexity: exceeded maximum number of strings';
const MERGE_PATCH = 'application/merge-patch+json';

function mountAnswer(mounts: ReadonlyMap<string, KvMount>, wanted: string): KvAnswer {
  const [path, mount] = [...mounts].find(([prefix]) => `${wanted}/`.startsWith(prefix)) ?? [];
  if (mount === undefined) return unseen(wanted);
  const options = mount.version === 2 ? { version: '2' } : null;
  return { status: 200, body: { data: { type: 'kv', path, uuid: mount.uuid, options } } };
}

/** Nothing is there, or no policy of the token is about it. */
function unseen(path: string): KvAnswer {
  const advice = `please ensure client's policies grant access to path "${path}/"`;
  return errors(403, `preflight capability check returned 403, ${advice}`);
}

function tokenAnswer(token: KvToken, path: string): KvAnswer {
  if (!token.hasDefault) return DENIED;
  if (path.endsWith('renew-self')) {
    if (token.type === 'batch') return errors(400, 'batch tokens cannot be renewed');
    if (!token.renewable) return errors(400, 'lease is not renewable');
    token.ttl = token.renewedTtl ?? token.creationTtl;
    token.renewals += 1;
    return { status: 200, body: { auth: { lease_duration: token.ttl, renewable: true } } };
  }
  const { ttl, creationTtl: creation_ttl, renewable, numUses: num_uses, type } = token;
  return { status: 200, body: { data: { ttl, creation_ttl, renewable, num_uses, type } } };
}

function rendered({ status, body, text }: KvAnswer): StoreResponse {
  const shown = text ?? (body === undefined ? '' : JSON.stringify(body));
  return { status, headers: {}, text: shown };
}

/** Times that grow by a little more than a microsecond, as a store prints them. */
export function risingTime(start = Date.UTC(2026, 0, 1)): () => string {
  let nanoseconds = 0;
  return () => {
    nanoseconds += 1_001;
    const seconds = Math.floor(nanoseconds / 1e9);
    const fraction = String(nanoseconds % 1e9)
      .padStart(9, '0')
      .replace(/0+$/, '');
    const whole = new Date(start + seconds * 1000).toISOString().slice(0, 19);
    return `${whole}${fraction === '' ? '' : `.${fraction}`}Z`;
  };
}
