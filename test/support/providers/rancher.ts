/** Rancher, as far as providerE asks it. */
import { type FakeAnswer, type FakeServer, type SeenRequest, startFake } from './fake-provider.ts';

export interface RancherUser {
  readonly id: string;
  readonly username?: string;
  readonly name?: string;
  readonly enabled?: boolean;
  readonly groups?: readonly string[];
  readonly isAdmin?: boolean;
}

export interface Rancher extends FakeServer {
  /** By token. */
  readonly users: Map<string, RancherUser>;
  /** Principals in one answer. */
  pageSize: number;
  /** As it calls itself. */
  publicHost: string;
}

export async function startRancher(tls?: { cert: string; key: string }): Promise<Rancher> {
  const server = await startFake((request) => answer(rancher, request), tls);
  const rancher: Rancher = Object.assign(server, {
    users: new Map<string, RancherUser>(),
    pageSize: 1000,
    publicHost: '',
  });
  return rancher;
}

function answer(rancher: Rancher, request: SeenRequest): FakeAnswer | undefined {
  const token = (request.headers['authorization'] ?? '').replace(/^Bearer /, '');
  const caller = rancher.users.get(token);
  if (caller === undefined || caller.enabled === false) {
    return { status: 401, json: { type: 'error', status: '401', message: 'must authenticate' } };
  }
  if (request.path === '/v3/users') {
    const isMe = request.query.get('me') === 'true';
    const seen = isMe || caller.isAdmin !== true ? [caller] : [...rancher.users.values()];
    return { json: { type: 'collection', data: seen.map((user) => shown(user, caller)) } };
  }
  if (request.path === '/v3/principals') return principals(rancher, caller, request);
  const [, id = ''] = /^\/v3\/users\/(.+)$/.exec(request.path) ?? [];
  const user = [...rancher.users.values()].find((one) => one.id === decodeURIComponent(id));
  if (caller.isAdmin !== true) return { status: 403, json: { type: 'error', status: '403' } };
  if (user === undefined) return { status: 404, json: { type: 'error', status: '404' } };
  return { json: shown(user, caller) };
}

function shown({ id, username, name, enabled }: RancherUser, caller: RancherUser): object {
  return {
    ...{ type: 'user', id, username: username ?? '', name: name ?? '', me: id === caller.id },
    ...(enabled === undefined ? {} : { enabled }),
    principalIds: [`local://${id}`],
  };
}

function principals(
  { pageSize, publicHost }: Rancher,
  { id, groups = [] }: RancherUser,
  { query }: SeenRequest,
): FakeAnswer {
  const all = [
    { type: 'principal', id: `local://${id}`, principalType: 'user', me: true, memberOf: false },
    ...groups.map((group) => ({
      ...{ type: 'principal', id: group, name: 'Any name', principalType: 'group' },
      ...{ me: false, memberOf: true },
    })),
  ];
  const from = Number(query.get('marker') ?? 0);
  const next = from + pageSize;
  return {
    json: {
      type: 'collection',
      data: all.slice(from, next),
      pagination: {
        limit: pageSize,
        ...(next < all.length
          ? { next: `https://${publicHost}/v3/principals?marker=${next}` }
          : {}),
      },
    },
  };
}
