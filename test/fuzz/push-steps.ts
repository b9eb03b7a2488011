/** Pushes: files that are added, changed, moved and deleted, sealed ones and those that steer the repository. */
import { randomBytes } from 'node:crypto';
import { isMap, parseAllDocuments, parseDocument, stringify } from 'yaml';
import { mintAccessKey } from '../../src/kinds/credentials/access-key.ts';
import type { Random } from '../support/random.ts';
import type { Act } from './episode.ts';
import { askFor, type Road, type Target } from './judge.ts';
import { type Player, pickTarget } from './player.ts';
import { BRANCH, type Moment, push } from './push-client.ts';
import { type SealedObject, sealFile } from './sealed-files.ts';
import {
  NAMES,
  NAMESPACES,
  pickContent,
  pickName,
  pickOwners,
  pickPusher,
  pickRule,
} from './wishes.ts';
import { groupOf, hashOf, KINDS, pathOf } from './world.ts';

type Files = Record<string, string | null>;

const MOST_CHANGES = 2;
const IGNORED_NAMESPACE = 'n1';

export function pushStep(player: Player): Act {
  const { random, episode, person, key } = player;
  // What is pushed follows from what is there, so the plan waits for the turn of the step.
  const act: Act & { label: string; road?: Road } = {
    person,
    key,
    label: 'push',
    verb: 'update',
    road: { by: 'push' },
    sent: '',
    send: async () => {
      const { repository } = episode;
      const newest = repository.at;
      const ref = random.chance(0.2) ? pickRef(player) : BRANCH;
      const isAside = ref !== BRANCH && ref !== STAND_IN;
      // A commit elsewhere is none of the branch.
      if (isAside) delete act.road;
      const isMerge = random.chance(0.35);
      // The daemon merges a push whose base is behind, and takes nothing back that is gone.
      if (random.chance(isMerge ? 0.1 : 0.4)) repository.at = random.pick(repository.recent);
      const base = repository.at;
      const merged = isMerge ? pickMerged(player) : [];
      const files: Files = merged.length === 0 ? {} : await mergedFiles(player, merged);
      // A merge alone lands more often than one with changes beside it.
      const count = isMerge && random.chance(0.8) ? 0 : random.chance(0.3) ? MOST_CHANGES : 1;
      for (let i = 0; i < count; i++) Object.assign(files, await pickChange(player));
      // What a commit brings and the next one takes back is in history all the same.
      const isBack = random.chance(isMerge ? 0.05 : 0.2);
      const inner = isBack && random.chance(0.4) ? [movedOrSpoiled(random, files)] : [];
      const paths = [files, ...inner].flatMap((each) => Object.keys(each));
      const commits = isBack ? [files, ...inner, await asTheyWere(player, paths)] : [files];
      const heads = merged.map(({ head }) => head);
      // Most of what reads history follows the first parent.
      const isBehind = random.chance(0.3);
      const parents = (own: string) => (isBehind ? [...heads, own] : [own, ...heads]);
      repository.at = newest;
      const isBeside = random.chance(0.2);
      const { tip, ...reply } = await push(episode.client, {
        token: key.text,
        from: episode.addressOf(key),
        ref,
        base,
        commits,
        parents,
        open: isAside || base !== newest || isBeside || random.chance(0.5),
        meanwhile: isBeside ? () => otherRights(player) : undefined,
      });
      if (isAside && reply.code === 200) {
        repository.aside.push(tip);
        episode.world.commits.push(tip.head);
      }
      const ways = [
        base === newest ? '' : ' from behind',
        ref === BRANCH ? '' : ` to ${ref}`,
        isBeside ? ' beside other rights' : '',
        ...heads.map((head) => ` with ${head.slice(0, 8)}`),
      ];
      const text = JSON.stringify(files).slice(0, 4000);
      act.label = `push${ways.join('')} ${Object.keys(files).join(' ')}: ${text}`;
      return reply;
    },
  };
  return act;
}

/** The name that stands for the branch, and refs beside it. */
const STAND_IN = 'refs/for/main';

function pickRef({ random, episode }: Player): string {
  const name = `${episode.repository.aside.length}`;
  return random.pick([STAND_IN, `refs/heads/topic-${name}`, `refs/tags/v${name}`]);
}

/** Up to three commits for a merge by hand: of other refs, or of any time, such as before a deletion. */
function pickMerged(player: Player): Moment[] {
  const { random, episode } = player;
  const { past, aside } = episode.repository;
  const having = past.filter((moment) => goneSince(player, moment).length > 0);
  const from = [aside, having].find((some) => some.length > 0 && random.chance(0.5)) ?? past;
  const count = random.chance(0.3) ? 2 + random.below(2) : 1;
  return [...new Set(Array.from({ length: count }, () => random.pick(from)))];
}

/** A merge takes nothing, a file, or everything from another commit; or it steers. */
async function mergedFiles(player: Player, merged: readonly Moment[]): Promise<Files> {
  const { random, episode } = player;
  const other = random.pick(merged);
  const now = episode.repository.at.files;
  const way = random.below(7);
  if (way === 6) return {};
  if (way > 3) return await steering(player);
  if (way > 0) return await takenBack(player, other);
  const files: Files = {};
  for (const path of new Set([...other.files.keys(), ...now.keys()])) {
    const [from, to] = [now.get(path), other.files.get(path)];
    if (from === to) continue;
    files[path] = to === undefined ? null : await episode.repository.object(to);
  }
  return files;
}

/** One file as another commit has it: most of the time one that is gone, as in a revert of its deletion. */
async function takenBack(player: Player, to: Moment): Promise<Files> {
  const { random, episode } = player;
  const now = episode.repository.at.files;
  const differs = [...to.files].filter(([path, id]) => now.get(path) !== id);
  if (differs.length === 0) return {};
  const gone = goneSince(player, to);
  const folder = random.pick(['users/', 'teams/', 'ownedaccesskeys/', '']);
  const wanted = gone.filter(([path]) => path.startsWith(folder));
  const from = [wanted, gone].find((some) => some.length > 0 && random.chance(0.8)) ?? differs;
  const [path, id] = random.pick(from);
  return { [path]: await episode.repository.object(id) };
}

/** Files of a commit that are gone, of objects that the pusher may create. */
function goneSince({ episode, key }: Player, { files }: Moment): [path: string, id: string][] {
  const rights = episode.world.rightsOf(key);
  const now = episode.repository.at.files;
  return [...files].filter(([path]) => {
    if (now.has(path)) return false;
    const [, namespace = '', plural = ''] = PLACE.exec(path) ?? [];
    return rights?.allows(askFor('create', { plural, namespace, name: '' })) === true;
  });
}

/** Of a file of an object, as the API names it. */
const PLACE = /^(?:moved\/)?(?:namespaces\/([^/]+)\/)?(\w+)\/[\w-]+\.yaml$/;

/** The administrator gives the pusher other rights while the push is on its way. */
async function otherRights({ random, episode, person }: Player): Promise<void> {
  const url = pathOf('clusterroles', '', person.name === 'boss' ? 'p0' : person.name);
  const rules = Array.from({ length: 3 }, () => pickRule(random));
  if (random.chance(0.5)) rules.push(...pickPusher(random));
  const type = 'application/merge-patch+json';
  await episode.client.call('PATCH', url, { token: episode.world.admin, body: { rules }, type });
  await episode.observe();
}

/** An object that a push ends and begins anew may come back with another owner. */
async function asTheyWere(
  { random, episode, person }: Player,
  paths: readonly string[],
): Promise<Files> {
  const files: Files = {};
  for (const path of paths) {
    const text = (await episode.repository.file(path)) ?? null;
    const isSealed = text?.includes('ENC[AES256_GCM') === true;
    files[path] = isSealed && random.chance(0.5) ? ownedBy(person.name, text) : text;
  }
  return files;
}

/** A commit that changes no value of the files before it: each is somewhere else then, or not valid. */
function movedOrSpoiled(random: Random, files: Files): Files {
  const changed: Files = {};
  for (const [path, text] of Object.entries(files)) {
    if (text === null || path.startsWith('.')) continue;
    if (random.chance(0.5)) Object.assign(changed, { [path]: null, [`moved/${path}`]: text });
    else changed[path] = text.replace(/^spec:$/m, 'spec: [');
  }
  return changed;
}

function ownedBy(user: string, text: string): string {
  const docs = parseAllDocuments(text);
  for (const doc of docs) {
    // A merge or an edit by hand may have left a document without fields.
    if (isMap(doc.get('spec'))) doc.setIn(['spec', 'owner'], doc.createNode({ user }));
  }
  return docs.map(String).join(docs.length > 1 ? '---\n' : '');
}

/** Files that a push changes. */
export async function pickChange(player: Player): Promise<Files> {
  const { random, episode } = player;
  const paths = [...episode.repository.at.files.keys()].filter(
    (path) => path.endsWith('.yaml') && !path.startsWith('.') && !path.includes('admin'),
  );
  const way = random.below(24);
  const isDeletion = way === 6 || way === 7;
  const path = pathToChange(player, paths, isDeletion ? 'delete' : 'update');
  if (way < 4) return await newObject(player);
  if (way < 6) return copied(player);
  if (way < 8) return { [path]: null };
  if (way < 10) return await moved(player, path);
  if (way < 14) return await edited(player, path);
  if (way < 17) return await sealedAnew(player);
  if (way < 19) return await steering(player);
  if (way < 21) return await takenBack(player, random.pick(episode.repository.past));
  if (way < 23) return await documentMoved(player, path, random.pick(paths));
  return await withoutOneDocument(player, path);
}

/** The file of an object that the pusher may change, most of the time. */
function pathToChange(player: Player, paths: readonly string[], verb: string): string {
  const { plural, namespace, name } = pickTarget(player, verb);
  const path = defaultPath(plural, namespace, name);
  return paths.includes(path) ? path : player.random.pick(paths);
}

function defaultPath(plural: string, namespace: string, name: string): string {
  return namespace === ''
    ? `${plural}/${name}.yaml`
    : `namespaces/${namespace}/${plural}/${name}.yaml`;
}

interface Pushed extends SealedObject {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: { readonly data?: Readonly<Record<string, string>> };
}

function wish(player: Player, plural: string, namespace: string, name: string): Pushed {
  const { random, episode, person } = player;
  const content = pickContent({ random, traces: episode.traces, self: person.name }, plural);
  if (plural === 'ownedaccesskeys') giveKey(player, name, content['spec'] as { key?: string });
  const metadata = { name, ...(namespace === '' ? {} : { namespace }) };
  return {
    apiVersion: `${groupOf(plural)}/v1`,
    kind: KINDS[plural]?.kind,
    metadata,
    ...content,
  } as Pushed;
}

/** A key of which git holds the hash and the person the text. */
function giveKey({ episode, person }: Player, name: string, spec: { key?: string }): void {
  const text = mintAccessKey('gpu');
  spec.key = hashOf(text);
  episode.world.tokens.add(text);
  person.keys.push({ name, text });
}

async function newObject(player: Player): Promise<Files> {
  const { random } = player;
  const { plural, namespace, name } = pickTarget(player, random.chance(0.7) ? 'create' : 'update');
  const object = wish(player, plural, namespace, name);
  // Now and then in the place of an object that another user will make.
  const file = random.chance(0.6) ? name : random.pick(NAMES[plural] ?? [name]);
  const path = defaultPath(plural, namespace, file);
  // What .gitplaneignore covers is no manifest, and not looked at.
  const mayBeClear = namespace !== IGNORED_NAMESPACE && random.chance(0.06);
  const isClear = object.spec?.data === undefined || mayBeClear;
  const own = isClear ? stringify(object) : await seal(player, [object]);
  return { [path]: own };
}

async function seal({ random, episode, person }: Player, objects: Pushed[]): Promise<string> {
  const dataKey = randomBytes(32);
  person.dataKeys.push(dataKey);
  const strangers = random.chance(0.5) ? [person.recipient] : [];
  const recipients = [...new Set([...episode.recipients, ...strangers])];
  // A file of another branch or tag may be merged when its recipients are none of the branch any more.
  const knowing = episode.people.filter(({ recipient }) => recipients.includes(recipient));
  for (const { spec } of objects) {
    for (const value of Object.values(spec?.data ?? {})) {
      for (const { name } of new Set([person, ...knowing])) noteSent(episode, name, value);
    }
  }
  return await sealFile(objects, { dataKey, recipients });
}

function noteSent({ world }: Player['episode'], name: string, value: string): void {
  const canary = Buffer.from(value, 'base64').toString();
  world.senders.set(canary, (world.senders.get(canary) ?? new Set()).add(name));
}

/** A file of secrets sealed with a data key of the pusher: with new values, under the old names. */
async function sealedAnew(player: Player): Promise<Files> {
  const { random } = player;
  const found = pickTarget(player, 'update');
  const plural = found.plural.endsWith('secrets') ? found.plural : 'sharedsecrets';
  const namespace = found.namespace === '' ? random.pick(NAMESPACES) : found.namespace;
  const name = pickName(random, plural);
  const file = random.chance(0.7) ? name : pickName(random, plural);
  const objects = [wish(player, plural, namespace, name)];
  if (random.chance(0.2)) objects.push(wish(player, plural, namespace, 's2'));
  return { [defaultPath(plural, namespace, file)]: await seal(player, objects) };
}

/** Sealed values of any time under a name of the pusher's choice, perhaps of another kind and owner. */
export function copied(player: Player, wanted?: Target): Files {
  const { random, episode, person } = player;
  if (episode.repository.sealed.length === 0) return {};
  const docs = parseAllDocuments(random.pick(episode.repository.sealed));
  const doc = random.pick(docs);
  if (!isMap(doc.contents) || !isMap(doc.get('metadata')) || !isMap(doc.get('spec'))) return {};
  const own = doc.get('kind') === 'ProjectSecret' ? 'projectsecrets' : 'sharedsecrets';
  const found = wanted ?? pickTarget(player, 'create');
  const isOther = found.plural.endsWith('secrets') && (wanted !== undefined || random.chance(0.6));
  const old = {
    plural: own,
    name: doc.getIn(['metadata', 'name']),
    namespace: doc.getIn(['metadata', 'namespace']),
  };
  const { plural, name, namespace } = isOther ? found : old;
  if (plural !== own) doc.set('kind', KINDS[plural]?.kind);
  if (random.chance(0.7)) doc.setIn(['spec', 'owner'], doc.createNode({ user: person.name }));
  doc.setIn(['metadata', 'name'], name);
  if (namespace !== undefined) doc.setIn(['metadata', 'namespace'], namespace);
  return { [defaultPath(plural, String(namespace ?? 'n0'), String(name))]: String(doc) };
}

async function moved(player: Player, path: string): Promise<Files> {
  const text = (await player.episode.repository.file(path)) ?? '';
  const to = player.random.chance(0.5) ? `moved/${path}` : path.replace(/^moved\//, '');
  return to === path ? {} : { [path]: null, [to]: text };
}

/** A change of fields that are in the clear, beside sealed values. */
async function edited({ random, episode, person }: Player, path: string): Promise<Files> {
  const text = (await episode.repository.file(path)) ?? '';
  const docs = parseAllDocuments(text);
  const doc = random.pick(docs);
  if (doc.get('kind') === undefined) return {};
  const plural = Object.keys(KINDS).find((one) => KINDS[one]?.kind === doc.get('kind')) ?? 'teams';
  if (random.chance(0.2)) {
    doc.setIn(['metadata', 'ownerReferences'], doc.createNode(pickOwners(random)));
  }
  const content = pickContent({ random, traces: episode.traces, self: person.name }, plural);
  const spec = (content['spec'] ?? content) as Record<string, unknown>;
  for (const [field, value] of Object.entries(spec)) {
    if (field === 'data' || field === 'key' || random.chance(0.5)) continue;
    doc.setIn(content['spec'] === undefined ? [field] : ['spec', field], doc.createNode(value));
  }
  return { [path]: docs.map(String).join(docs.length > 1 ? '---\n' : '') };
}

async function withoutOneDocument({ random, episode }: Player, path: string): Promise<Files> {
  const text = (await episode.repository.file(path)) ?? '';
  const docs = parseAllDocuments(text);
  if (docs.length < 2) return { [path]: null };
  docs.splice(random.below(docs.length), 1);
  return { [path]: docs.map(String).join('---\n') };
}

/** A document of one file in another one, with the encryption that it has. */
async function documentMoved(
  { random, episode }: Player,
  from: string,
  to: string,
): Promise<Files> {
  const [source, target] = [from, to].map((path) => episode.repository.file(path));
  const docs = parseAllDocuments((await source) ?? '');
  const taken = docs.splice(random.below(docs.length), 1).map(String);
  if (from === to || taken.length === 0) return {};
  const rest = docs.length === 0 ? null : docs.map(String).join('---\n');
  const kept = random.chance(0.8) ? { [from]: rest } : {};
  return { ...kept, [to]: [(await target) ?? '', ...taken].join('---\n') };
}

/** The pusher as a recipient of what is sealed from now on, or paths that nobody reads. */
async function steering({ random, episode, person }: Player): Promise<Files> {
  if (random.chance(0.2))
    return { '.gitplaneignore': `namespaces/${IGNORED_NAMESPACE}/**\n# ${random.below(9)}\n` };
  if (random.chance(0.1)) return { '.gitattributes': '*.yaml text eol=crlf\n' };
  const text = (await episode.repository.file('.sops.yaml')) ?? '';
  const doc = parseDocument(text);
  const { creation_rules: rules = [] } = doc.toJS() as {
    creation_rules?: { age?: string | string[] }[];
  };
  rules.forEach(({ age = [] }, index) => {
    const before = typeof age === 'string' ? age.split(',') : age;
    const wanted = [...new Set([...before, person.recipient])].join(',');
    doc.setIn(['creation_rules', index, 'age'], wanted);
  });
  return { '.sops.yaml': String(doc) };
}
