/** Requests that read: the present, the past, lists, watches, histories, plans, reviews and git. */
import type { Act } from './episode.ts';
import { GIT_PATH, type Target } from './judge.ts';
import { OVERVIEW } from './leaks.ts';
import { anyTarget, bare, type Player, pickTarget } from './player.ts';
import { askPath, idOf, isNamespaced } from './rights-model.ts';
import { NAMESPACES } from './wishes.ts';
import { groupOf, pathOf, ROOT } from './world.ts';

const SILENCE_MS = 25;

const FORMS: readonly (string | undefined)[] = [
  undefined,
  undefined,
  undefined,
  'application/yaml',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf',
];

function form({ random }: Player): { accept?: string } {
  const accept = random.pick(FORMS);
  return accept === undefined ? {} : { accept };
}
/** A point of the past: a commit or a time. */
function pickPast({ random, episode }: Player): string {
  const { commits, times } = episode.world;
  return random.chance(0.8)
    ? `atRevision=${random.pick(commits)}`
    : `atTime=${encodeURIComponent(random.pick(times))}`;
}

export function getStep(player: Player): Act {
  const { random, episode, key } = player;
  const target = pickTarget(player, 'get');
  const past = random.chance(0.35) ? `?${pickPast(player)}` : '';
  const path = `${pathOf(target.plural, target.namespace, target.name)}${past}`;
  const sent = form(player);
  return {
    ...bare(player, { label: `get ${path}`, verb: 'get', target }),
    send: () => episode.send('GET', path, key, sent),
  };
}

interface Listed {
  readonly target: Target;
  readonly path: string;
  readonly query: string[];
}

function pickCollection(player: Player, verb: string): Listed {
  const { random } = player;
  const found = pickTarget(player, verb);
  const namespace = random.chance(0.15) ? '' : found.namespace;
  const name = random.chance(0.6) ? found.name : '';
  const query = name === '' ? [] : [`fieldSelector=metadata.name%3D${name}`];
  if (random.chance(0.1)) query.push('labelSelector=l');
  return { target: { ...found, namespace, name }, path: pathOf(found.plural, namespace), query };
}

export function listStep(player: Player): Act {
  const { random, episode, key } = player;
  const { target, path, query } = pickCollection(player, 'list');
  const version = random.pick(episode.world.versions);
  const way = random.below(7);
  if (way === 0) query.push(pickPast(player));
  else if (way === 1) query.push(`resourceVersion=${version}`, 'resourceVersionMatch=Exact');
  else if (way === 2) query.push(`resourceVersion=${version}`, `limit=${1 + random.below(3)}`);
  else if (way === 3)
    query.push(`continue=${handMadeContinue(player, target, version)}`, 'limit=5');
  else if (way === 4) query.push(`limit=${1 + random.below(2)}`);
  else if (way === 5) {
    query.push(`resourceVersion=${version}`, 'resourceVersionMatch=NotOlderThan');
  }
  const url = `${path}?${query.join('&')}`;
  const sent = form(player);
  return {
    ...bare(player, { label: `list ${url}`, verb: 'list', target }),
    send: async () => {
      const first = await episode.send('GET', url, key, sent);
      const next = /"continue":"([^"]+)"/.exec(first.text)?.[1];
      if (next === undefined) return first;
      const rest = query.filter((part) => part.startsWith('fieldSelector'));
      const further = [...rest, 'limit=500', `continue=${next}`].join('&');
      const more = await episode.send('GET', `${path}?${further}`, key, sent);
      return { code: first.code, text: `${first.text}\n${more.code < 300 ? more.text : ''}` };
    },
  };
}

/** A token for the pages of an old list, as anybody can write it: it is no secret. */
function handMadeContinue({ random }: Player, target: Target, version: string): string {
  const namespace = target.namespace === '' ? random.pick(NAMESPACES) : target.namespace;
  const start = isNamespaced(target.plural) ? `${namespace}/a\0` : 'a\0';
  const token = { v: 'meta.k8s.io/v1', rv: Number(version), start };
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

export function watchStep(player: Player): Act {
  const { random, episode, key } = player;
  const { target, path, query } = pickCollection(player, 'watch');
  const version = random.chance(0.8) ? random.pick(episode.world.versions) : '0';
  query.push('watch=1', `resourceVersion=${version}`, 'timeoutSeconds=5');
  if (random.chance(0.2)) query.push('allowWatchBookmarks=true');
  const isOne = target.name !== '' && target.namespace !== '' && random.chance(0.3);
  // The older spelling of a watch.
  const old = path.replace('/v1/', '/v1/watch/');
  const place = isOne ? `${old}/${target.name}` : path;
  const url = `${place}?${(isOne ? query.slice(1) : query).join('&')}`;
  return {
    ...bare(player, { label: `watch ${url}`, verb: 'watch', target }),
    send: () => episode.send('GET', url, key, { ...form(player), untilSilentMs: SILENCE_MS }),
  };
}

export function historyStep(player: Player): Act {
  const { random, episode, key } = player;
  const target = pickTarget(player, 'get');
  const part = random.chance(0.3) ? 'blame' : 'history';
  const path = `${pathOf(target.plural, target.namespace, target.name)}/${part}`;
  if (random.chance(0.3)) return planStep(player);
  return {
    ...bare(player, { label: `get ${path}`, verb: 'get', target }),
    send: () => episode.send('GET', path, key),
  };
}

/** Documents about many objects have only what the reader may see of each. */
export function overviewStep(player: Player): Act {
  const { random, episode, key } = player;
  const { plural, namespace, name } = pickTarget(player, 'get');
  const asked = new URLSearchParams({ verb: 'get', resource: plural, namespace, name }).toString();
  const path = random.pick([
    '/summary',
    `/search?q=${encodeURIComponent(name)}&limit=100`,
    `/search?q=mark&limit=100`,
    `/access/explain?${asked}`,
    `/access/who?${asked}`,
  ]);
  return {
    ...bare(player, { label: `overview ${path}`, verb: OVERVIEW }),
    send: () => episode.send('GET', path, key),
  };
}

/** Who may clone sees what is in git in the clear, which marks are; values are not. */
function planStep(player: Player): Act {
  const { random, episode, key } = player;
  const topic = `topic-${random.below(episode.repository.aside.length + 1)}`;
  const body = random.chance(0.3)
    ? { ref: random.pick([topic, 'gitplane/writes']) }
    : { revision: random.pick(episode.world.commits) };
  return {
    ...bare(player, { label: `plan ${JSON.stringify(body)}`, verb: 'get' }),
    send: async () => {
      const reply = await episode.send('POST', '/plan', key, { body });
      if (reply.code < 300) assertMayClone(player);
      return { ...reply, text: reply.text.replaceAll(/mark-[0-9a-f]{12}-\d+/g, 'mark') };
    },
  };
}

/** An answer to a key that does not work is found elsewhere. */
function assertMayClone({ episode, key }: Player): void {
  const rights = episode.world.rightsOf(key);
  if (rights?.allows(askPath('get', GIT_PATH)) !== false) return;
  const { scopes } = rights.identity;
  throw new Error(`Git is shown without the right to it, to ${JSON.stringify(scopes)}`);
}

/** The rights that a key says it has are among those that it has. */
export function reviewStep(player: Player): Act {
  const { random, episode, key } = player;
  const target = anyTarget(player);
  const verb = random.pick(['get', 'list', 'update', 'delete', 'create']);
  const resourceAttributes = {
    verb,
    group: groupOf(target.plural),
    resource: target.plural,
    namespace: target.namespace,
    name: verb === 'list' || verb === 'create' ? '' : target.name,
  };
  const path = `${ROOT}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`;
  return {
    ...bare(player, {
      label: `can-i ${verb} ${idOf(target.plural, target.namespace, target.name)}`,
      verb,
    }),
    send: async () => {
      const reply = await episode.send('POST', path, key, {
        body: { spec: { resourceAttributes } },
      });
      const says = (JSON.parse(reply.text) as { status?: { allowed?: boolean } }).status?.allowed;
      const rights = episode.world.rightsOf(key);
      const has = rights === undefined || rights.allows(resourceAttributes);
      if (says === true && !has)
        throw new Error(`A review says yes to ${JSON.stringify(resourceAttributes)}`);
      return reply;
    },
  };
}
/** Who may read git reads all of it; who may not is told nothing. */
export function fetchStep(player: Player): Act {
  const { episode, key } = player;
  const url = `${GIT_PATH}/info/refs?service=git-upload-pack`;
  return {
    ...bare(player, { label: `fetch ${url}`, verb: 'get' }),
    send: async () => {
      const reply = await episode.send('GET', url, key, { basic: true });
      if (reply.code === 200) assertMayClone(player);
      return reply;
    },
  };
}
