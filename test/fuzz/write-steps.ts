/** Requests that write: creates, replacements, patches, deletions, rollbacks, keys and rights. */
import type { Act } from './episode.ts';
import { askFor, type Target } from './judge.ts';
import { bare, type Player, pickTarget } from './player.ts';
import { isNamespaced, type Obj, type Scope } from './rights-model.ts';
import {
  followLabels,
  pickContent,
  pickData,
  pickName,
  pickOwners,
  pickPusher,
  pickRule,
  pickScope,
} from './wishes.ts';
import { groupOf, KINDS, pathOf } from './world.ts';

const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const APPLY = 'application/apply-patch+yaml';
function bodyOf(player: Player, target: Target, metadata: object = {}): object {
  const { random, episode, person } = player;
  const { plural, namespace, name } = target;
  const content = pickContent({ random, traces: episode.traces, self: person.name }, plural);
  const follows = plural === 'projectsecrets' && random.chance(0.5);
  const labels = follows ? followLabels(random) : random.chance(0.2) ? { l: 'x' } : undefined;
  const spec = content['spec'] as { data?: object } | undefined;
  if (follows && spec !== undefined) delete spec.data;
  return {
    apiVersion: `${groupOf(plural)}/v1`,
    kind: KINDS[plural]?.kind,
    metadata: {
      name,
      ...(namespace === '' ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(random.chance(0.06) ? { finalizers: ['example.com/waits'] } : {}),
      ...(random.chance(0.06) ? { ownerReferences: pickOwners(random) } : {}),
      ...metadata,
    },
    ...content,
  };
}

interface Write {
  readonly method: string;
  readonly url: string;
  readonly body?: object;
  readonly type?: string;
  readonly verbs: readonly string[];
  readonly target: Target;
}

function writeAct(player: Player, of: Write): Act {
  const { random, episode, key } = player;
  const { method, body, type, verbs, target } = of;
  const dryRun = random.chance(0.1);
  const mark = of.url.includes('?') ? '&' : '?';
  const url = `${of.url}${dryRun ? `${mark}dryRun=All` : ''}`;
  const sent = body === undefined ? '' : JSON.stringify(body);
  const label = `${method} ${url} ${sent}`;
  const how = {
    ...(body === undefined ? {} : { body: sent }),
    ...(type === undefined ? {} : { type }),
  };
  return {
    ...bare(player, { label, verb: verbs[0] ?? '', sent, target }),
    ...(dryRun ? {} : { road: { by: 'api', verbs, target } }),
    send: () => episode.send(method, url, key, how),
  };
}

export function createStep(player: Player): Act {
  const found = pickTarget(player, 'create');
  const taken = player.episode.world.find(found.plural, found.namespace, found.name);
  const name = taken === undefined ? found.name : pickName(player.random, found.plural);
  const target = { ...found, name };
  const { plural, namespace } = target;
  const body = bodyOf(player, target);
  return writeAct(player, {
    method: 'POST',
    url: pathOf(plural, namespace),
    body,
    verbs: ['create'],
    target,
  });
}

export function putStep(player: Player): Act {
  const target = pickTarget(player, 'update');
  const { plural, namespace, name } = target;
  const resourceVersion = player.episode.world.find(plural, namespace, name)?.metadata
    .resourceVersion;
  const body = bodyOf(player, target, resourceVersion === undefined ? {} : { resourceVersion });
  return writeAct(player, {
    method: 'PUT',
    url: pathOf(plural, namespace, name),
    body,
    verbs: ['update'],
    target,
  });
}

export function patchStep(player: Player): Act {
  const { random } = player;
  const target = pickTarget(player, 'patch');
  const { plural, namespace, name } = target;
  const url = pathOf(plural, namespace, name);
  const at = { url, method: 'PATCH', target };
  if (random.chance(0.2)) {
    const there = player.episode.world.find(plural, namespace, name) !== undefined;
    const verbs = there ? ['patch'] : ['patch', 'create'];
    const body = bodyOf(player, target);
    return writeAct(player, {
      ...at,
      url: `${url}?fieldManager=m&force=true`,
      body,
      type: APPLY,
      verbs,
    });
  }
  if (random.chance(0.3)) {
    return writeAct(player, {
      ...at,
      body: jsonPatch(player, target),
      type: JSON_PATCH,
      verbs: ['patch'],
    });
  }
  return writeAct(player, {
    ...at,
    body: mergePatch(player, plural),
    type: MERGE,
    verbs: ['patch'],
  });
}

/** The least change of an object, which is answered with all of it. */
export function labelled(player: Player, target: Target): Act {
  const body = { metadata: { labels: { l: player.random.pick(['x', 'y']) } } };
  const url = pathOf(target.plural, target.namespace, target.name);
  return writeAct(player, { method: 'PATCH', url, body, type: MERGE, verbs: ['patch'], target });
}

function mergePatch(player: Player, plural: string): object {
  const { random, episode, person } = player;
  const content = pickContent({ random, traces: episode.traces, self: person.name }, plural);
  if (plural.endsWith('secrets') && random.chance(0.4)) {
    return { spec: { data: pickData({ random, traces: episode.traces }) } };
  }
  if (plural === 'projectsecrets' && random.chance(0.4)) {
    return { metadata: { labels: followLabels(random) }, spec: { data: null } };
  }
  if (random.chance(0.15)) return { metadata: { finalizers: null } };
  if (random.chance(0.15)) return { metadata: { ownerReferences: pickOwners(random) } };
  if (random.chance(0.2)) return { metadata: { labels: { l: random.pick(['x', null]) } } };
  const spec = content['spec'] as Record<string, unknown> | undefined;
  if (spec === undefined) return content;
  const field = random.pick(Object.keys(spec));
  return { spec: { [field]: spec[field] } };
}

function jsonPatch({ random, episode, key }: Player, target: Target): object[] {
  const plain = [
    [{ op: 'remove', path: '/spec/access' }],
    [{ op: 'remove', path: '/spec/owner' }],
    [{ op: 'remove', path: '/spec/scope' }],
  ];
  if (!target.plural.endsWith('secrets')) return random.pick(plain);
  const value = episode.traces.canary();
  const ofSecrets = [
    [{ op: 'move', from: '/spec/data/a', path: '/spec/data/m' }],
    [{ op: 'test', path: '/spec/data/a', value }],
    [{ op: 'add', path: '/spec/data/z', value }],
  ];
  // A user who may read a value may also write it where it is not sealed.
  const mayRead = episode.world.rightsOf(key)?.allows(askFor('get', target)) === true;
  const copies = [
    [{ op: 'copy', from: '/spec/data/a', path: '/metadata/labels/c' }],
    [{ op: 'copy', from: '/spec/data', path: '/metadata/annotations' }],
  ];
  return random.pick([...plain, ...ofSecrets, ...(mayRead ? [] : copies)]);
}

export function deleteStep(player: Player): Act {
  const { random } = player;
  const target = pickTarget(player, 'delete');
  const { plural, namespace, name } = target;
  if (random.chance(0.12)) {
    // The administrator who looks on has a user, a key, a role and a binding, too.
    const isWhole = isNamespaced(plural) && random.chance(0.4);
    const one = isWhole ? '' : name;
    const query = one === '' ? '' : `?fieldSelector=metadata.name%3D${one}`;
    return writeAct(player, {
      method: 'DELETE',
      url: `${pathOf(plural, namespace)}${query}`,
      verbs: ['deletecollection'],
      target: { ...target, name: one },
    });
  }
  return writeAct(player, {
    method: 'DELETE',
    url: pathOf(plural, namespace, name),
    verbs: ['delete'],
    target,
  });
}
export function rollbackStep(player: Player): Act {
  const { random, episode, key } = player;
  const target = pickTarget(player, 'update');
  const isThere = episode.world.find(target.plural, target.namespace, target.name) !== undefined;
  const dryRun = random.chance(0.4);
  const path = `${pathOf(target.plural, target.namespace, target.name)}/rollback`;
  const body = { revision: random.pick(episode.world.commits) };
  const verbs = ['get', isThere ? 'update' : 'create'];
  const url = `${path}${dryRun ? '?dryRun=All' : ''}`;
  return {
    ...bare(player, { label: `rollback ${url} ${body.revision}`, verb: 'rollback', target }),
    ...(dryRun ? {} : { road: { by: 'api', verbs, target } }),
    send: () => episode.send('POST', url, key, { body }),
  };
}
/** A token for endpoints of clusters; its scope is within that of the key. */
export function endpointTokenStep(player: Player): Act {
  const { random, episode, key } = player;
  const scope: Scope | undefined = random.chance(0.7) ? pickScope(random) : undefined;
  const body = { spec: { ttl: 60, ...(scope === undefined ? {} : { scope }) } };
  const path = pathOf('teams').replace(/teams$/, 'directclusterendpointtokens');
  return {
    ...bare(player, { label: `POST ${path} ${JSON.stringify(body)}`, verb: 'create' }),
    send: async () => {
      const rights = episode.world.rightsOf(key);
      const reply = await episode.send('POST', path, key, { body });
      if (reply.code !== 201 || rights === undefined) return reply;
      const made = JSON.parse(reply.text) as Obj;
      const [beyond] = episode.judge.scopes(rights.identity.scopes, made.spec?.scope);
      if (beyond !== undefined && made.spec?.scope !== undefined)
        throw new Error(`A token: ${beyond}`);
      return reply;
    },
  };
}
/** A key made by a key: with the scope of that one, more of it, or less. */
export function keyStep(player: Player): Act {
  const { random, episode, person, key } = player;
  const own = episode.world.rightsOf(key)?.identity.scopes[0];
  const rules = own?.rules ?? [];
  const wide = rules.map((rule) => ({ ...rule, verbs: ['*'] }));
  const open = rules.map(({ verbs: _verbs, ...rule }) => rule);
  const scopes: (Scope | undefined)[] = [own, pickScope(random), undefined];
  if (rules.length > 0) {
    scopes.push({ rules: wide }, { rules: open }, { rules: rules.slice(0, 1) });
    scopes.push({ rules: [...rules, { nonResourceURLs: ['*'] }] });
  }
  const scope = random.pick(scopes);
  const taken = episode.world.find('ownedaccesskeys', '', 'k0') !== undefined;
  const name = taken ? pickName(random, 'ownedaccesskeys') : 'k0';
  const target = { plural: 'ownedaccesskeys', namespace: '', name };
  const spec = { user: person.name, ...(scope === undefined ? {} : { scope }) };
  const body = { metadata: { name }, spec };
  const url = pathOf('ownedaccesskeys');
  return writeAct(player, { method: 'POST', url, body, verbs: ['create'], target });
}

/** The administrator changes the rights of a user, or readmits a user without a working key. */
export function rightsStep(player: Player): Act {
  const { random, episode } = player;
  const key = { name: 'admin', text: episode.world.admin };
  const { keys, name: user } = player.person;
  if (keys.every((one) => episode.world.rightsOf(one) === undefined)) {
    const isGone = episode.world.find('users', '', user) === undefined;
    const plural = isGone ? 'users' : 'ownedaccesskeys';
    const target = { plural, namespace: '', name: isGone ? user : `${user}-${keys.length}` };
    const spec = isGone ? { displayName: episode.traces.mark() } : { user };
    const body = { metadata: { name: target.name }, spec };
    const write = { method: 'POST', url: pathOf(plural), body, verbs: ['create'], target };
    return writeAct({ ...player, key }, write);
  }
  const name = user === 'boss' ? 'p0' : user;
  const rules = Array.from({ length: 3 + random.below(6) }, () => pickRule(random));
  if (random.chance(0.6)) rules.push(...pickPusher(random));
  const target = { plural: 'clusterroles', namespace: '', name };
  return writeAct(
    { ...player, key },
    {
      method: 'PATCH',
      url: pathOf('clusterroles', '', name),
      body: { rules },
      type: MERGE,
      verbs: ['patch'],
      target,
    },
  );
}
