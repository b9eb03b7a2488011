/**
 * Histories of real clients: what they were answered must be possible for one copy that takes one
 * operation at a time, object by object; and versions, commits and events are one order.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { manifest } from '../e2e/clones.ts';
import { type Watching, watching } from '../e2e/watching.ts';
import { type Answer, API, type CallOptions, type Daemon, startDaemon } from '../support/daemon.ts';
import { check, type Operation } from '../support/linearizability.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { budget, SEED, say, timeoutMs } from './budget.ts';
import { repositoryOf } from './history.ts';
import { type Input, type Output, objectModel } from './object-model.ts';

const SECONDS = 8;
const TEAMS = `${API}/teams`;
const MERGE_PATCH = 'application/merge-patch+json';
const CLIENTS = 6;
const NAMES = ['one', 'two', 'three', 'four'];
/** Of operations on the same objects: the check has to try many orders of what overlaps. */
const GENERATION_OPERATIONS = 400;

interface Recorded extends Operation<Input, Output> {
  readonly name: string;
  readonly commit: string | undefined;
}

/** What clients share: the record, and room for the slower ones. */
interface Scene {
  readonly daemon: Daemon;
  readonly names: readonly string[];
  readonly operations: Recorded[];
  readonly random: Random;
  /** Pushes in a row that found the branch elsewhere: git is the slower one. */
  pushesLost: number;
  pushes: number;
  marks: number;
  over: boolean;
}

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

test(
  `clients see one order of events (seed ${SEED})`,
  async () => {
    const random = randomFrom(SEED);
    const goOn = budget(SECONDS);
    const clone = await daemon.clone();
    let operations = 0;
    let pushes = 0;
    for (let generation = 0; generation === 0 || goOn(); generation++) {
      const scene: Scene = {
        daemon,
        names: NAMES.map((name) => `${name}-${generation}`),
        operations: [],
        random,
        pushesLost: 0,
        pushes: 0,
        marks: 0,
        over: false,
      };
      const watch = await watchTeams();
      const clients = Array.from({ length: CLIENTS }, () => useApi(scene));
      const pusher = usePushes(scene, clone);
      while (scene.operations.length < GENERATION_OPERATIONS && goOn()) await sleep(20);
      scene.over = true;
      await Promise.all([...clients, pusher]);
      expectLinearizable(scene);
      expectOneOrder(scene);
      await expectCommitsInOrder(scene);
      await expectEvents(scene, watch);
      operations += scene.operations.length;
      pushes += scene.pushes;
    }
    say(`histories: ${operations} operations, ${pushes} of them by pushes`);
    expect(pushes).toBeGreaterThan(0);
  },
  timeoutMs(SECONDS),
);

function teamsNow(): Promise<Answer> {
  return daemon.call('GET', TEAMS);
}

async function watchTeams(): Promise<Watching> {
  const { resourceVersion } = (await teamsNow()).json().metadata;
  return await watching(daemon, `${TEAMS}?watch=true&resourceVersion=${resourceVersion}`);
}

/** One client: some reads, more writes, each after the answer to the one before. */
async function useApi(scene: Scene): Promise<void> {
  const { random } = scene;
  /** As this client saw them last. */
  const versions = new Map<string, string>();
  while (!scene.over) {
    if (random.chance(0.08)) await list(scene);
    else {
      const name = random.pick(scene.names);
      const known = versions.get(name);
      const input = nextInput(scene, known);
      const output = await one(scene, name, input);
      if (output?.ok === true && output.version !== undefined) versions.set(name, output.version);
    }
    await sleep(random.below(8));
  }
}

function nextInput(scene: Scene, version: string | undefined): Input {
  // Reads go on while the others make room.
  const roll = scene.pushesLost > 1 ? 0 : scene.random.next();
  const value = `m${scene.marks++}`;
  if (roll < 0.3) return { op: 'read' };
  if (roll < 0.5) return { op: 'create', value };
  if (roll < 0.7) return { op: 'patch', value };
  if (roll < 0.9 && version !== undefined) return { op: 'update', value, version };
  return { op: 'delete' };
}

/** Undefined: nobody knows. */
async function one(scene: Scene, name: string, input: Input): Promise<Output | undefined> {
  const [method, path, options] = requestFor(name, input);
  const called = performance.now();
  const answer = await scene.daemon.call(method, path, options);
  const returned = performance.now();
  const output = outputOf(input, answer);
  const commit = answer.headers['gitplane-commit'] as string | undefined;
  scene.operations.push({ name, input, output, called, returned, commit });
  return output;
}

function requestFor(name: string, input: Input): [string, string, CallOptions] {
  const path = `${TEAMS}/${name}`;
  switch (input.op) {
    case 'create':
      return ['POST', TEAMS, { body: { metadata: { name }, spec: { displayName: input.value } } }];
    case 'patch':
      return ['PATCH', path, { body: { spec: { displayName: input.value } }, type: MERGE_PATCH }];
    case 'update': {
      const metadata = { name, resourceVersion: input.version };
      return ['PUT', path, { body: { metadata, spec: { displayName: input.value } } }];
    }
    case 'delete':
      return ['DELETE', path, {}];
    default:
      return ['GET', path, {}];
  }
}

function outputOf(input: Input, answer: Answer): Output {
  const body = answer.json();
  if (answer.code < 300) {
    if (input.op === 'delete') return { ok: true };
    const { resourceVersion: version } = body.metadata;
    return { ok: true, value: body.spec.displayName, version };
  }
  expect(['NotFound', 'AlreadyExists', 'Conflict'], answer.text).toContain(body.reason);
  return { ok: false, reason: body.reason };
}

/** A list is a read of every object, at one moment. */
async function list({ names, operations }: Scene): Promise<void> {
  const called = performance.now();
  const { items } = (await teamsNow()).json();
  const returned = performance.now();
  for (const name of names) {
    const found = items.find(
      ({ metadata }: { metadata: { name: string } }) => metadata.name === name,
    );
    const output: Output =
      found === undefined
        ? { ok: false, reason: 'NotFound' }
        : { ok: true, value: found.spec.displayName, version: found.metadata.resourceVersion };
    operations.push({ name, input: { op: 'read' }, output, called, returned, commit: undefined });
  }
}

/** Pushes of two objects at a time over HTTPS, to the same objects. */
async function usePushes(scene: Scene, clone: string): Promise<void> {
  const { random } = scene;
  while (!scene.over || scene.pushes === 0) {
    await git(clone, 'fetch', '-q', 'origin', 'main');
    await git(clone, 'reset', '-q', '--hard', 'FETCH_HEAD');
    const value = `m${scene.marks++}`;
    const start = random.below(scene.names.length);
    const names = [0, 1].map((i) => scene.names[(start + i) % scene.names.length] ?? '');
    for (const name of names) {
      const text = manifest('Team', name, `{displayName: ${value}}`);
      writeFileSync(join(clone, `teams/${name}.yaml`), text);
    }
    await git(clone, 'add', '--all');
    await git(clone, 'commit', '-q', '-m', value);
    const called = performance.now();
    const { code, stderr } = await scene.daemon.git(['push', '-q', 'origin', 'HEAD:main'], clone);
    const returned = performance.now();
    if (code === 0) {
      const commit = await git(clone, 'rev-parse', 'HEAD');
      const input: Input = { op: 'push', value };
      for (const name of names) {
        scene.operations.push({ name, input, output: { ok: true }, called, returned, commit });
      }
      scene.pushes += 1;
      scene.pushesLost = 0;
    } else {
      expect(stderr).toMatch(
        /fetch first|non-fast-forward|moved meanwhile|cannot lock ref|failed to update|\(conflict: /,
      );
      scene.pushesLost += 1;
    }
    await sleep(random.below(100));
  }
}

async function git(clone: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await daemon.git(args, clone);
  expect(code, `git ${args.join(' ')}: ${stderr}`).toBe(0);
  return stdout.trim();
}

function expectLinearizable({ names, operations }: Scene): void {
  for (const name of names) {
    const verdict = check(
      objectModel,
      operations.filter((operation) => operation.name === name),
    );
    const shown = JSON.stringify([verdict.longest.slice(-8), verdict.stuck], undefined, 1);
    expect(verdict.linearizable, `${name}: ${verdict.linearizable ? '' : shown}`).toBe(true);
  }
}

interface Write {
  readonly version: number;
  readonly called: number;
  readonly returned: number;
  readonly commit: string;
}

/** Writes of the API that were answered with a version, in the order of their versions. */
function versionedWrites({ operations }: Scene): Write[] {
  return operations
    .flatMap(({ output, called, returned, commit }) =>
      commit !== undefined && output?.ok === true && output.version !== undefined
        ? [{ version: Number(output.version), called, returned, commit }]
        : [],
    )
    .sort((a, b) => a.version - b.version);
}

/** Across objects: what was answered before another began has the smaller version. */
function expectOneOrder(scene: Scene): void {
  let latestCall = 0;
  for (const { called, returned, version } of versionedWrites(scene)) {
    expect(returned, `version ${version} is older than one that came before`).toBeGreaterThan(
      latestCall,
    );
    latestCall = Math.max(latestCall, called);
  }
}

async function expectCommitsInOrder(scene: Scene): Promise<void> {
  const commits = await repositoryOf(daemon.dataDir).commits('refs/heads/main');
  const places = new Map(commits.map(({ id }, place) => [id, place]));
  let last = -1;
  const written = new Set<string>();
  for (const { commit, version } of versionedWrites(scene)) {
    const place = places.get(commit) ?? -1;
    expect(place, `the commit of version ${version}`).toBeGreaterThan(last);
    expect(written.has(commit), `${commit} is the commit of two writes`).toBe(false);
    written.add(commit);
    last = place;
  }
}

/** A watch tells exactly what happened: every version once, in order, each as it was answered. */
async function expectEvents(scene: Scene, watch: Watching): Promise<void> {
  const { resourceVersion } = (await teamsNow()).json().metadata;
  const marker = { metadata: { name: `end-${resourceVersion}` }, spec: {} };
  expect((await daemon.call('POST', TEAMS, { body: marker })).code).toBe(201);
  const isEnd = (): boolean => watch.events.at(-1)?.object.metadata.name === marker.metadata.name;
  for (let wait = 0; wait < 3000 && !isEnd(); wait++) await sleep(10);
  watch.close();
  const seen = new Map<number, string>();
  let last = 0;
  for (const { object } of watch.events) {
    const version = Number(object.metadata.resourceVersion);
    expect(version).toBeGreaterThan(last);
    last = version;
    seen.set(version, object.spec.displayName);
  }
  for (const { output, input } of scene.operations) {
    if (output?.ok !== true || output.version === undefined) continue;
    const version = Number(output.version);
    expect(seen.get(version), `${input.op} at ${version}`).toBe(output.value);
  }
}
