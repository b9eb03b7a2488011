/** What must hold when a run is over and everything is mended. */
import { setTimeout as sleep } from 'node:timers/promises';
import { check } from '../../support/linearizability.ts';
import type { Replica } from '../../support/replica.ts';
import { type LoggedCommit, repositoryOf } from '../history.ts';
import { type Input, type Output, objectModel } from '../object-model.ts';
import { rebuildDifferences } from '../rebuild.ts';
import { Asker } from './ask.ts';
import { MERGE_PATCH, type Recorded, type Scene, TEAMS } from './scene.ts';
import type { WanderingWatch } from './wandering-watch.ts';

const MENDED_WITHIN_MS = 60_000;

/** Every replica takes a write again, and shows it. Returns how long that took. */
export async function expectAlive(scene: Scene): Promise<number> {
  const begun = performance.now();
  for (const replica of scene.set.replicas) await expectTakesWrites(scene, replica, begun);
  return performance.now() - begun;
}

async function expectTakesWrites(scene: Scene, replica: Replica, begun: number): Promise<void> {
  const asker = new Asker();
  const { token } = scene.set;
  const value = scene.mark();
  let last = '';
  try {
    for (;;) {
      const headers = { 'idempotency-key': scene.key() };
      const spec = { displayName: value };
      const write = { method: 'PATCH', path: `${TEAMS}/probe`, body: { spec }, type: MERGE_PATCH };
      try {
        const { code, text } = await asker.ask(replica, { ...write, headers, token });
        if (code === 404) await asker.ask(replica, { ...createProbe(), headers, token });
        const seen = await asker.ask(replica, { path: `${TEAMS}/probe`, token });
        if (code === 200 && seen.body?.spec?.displayName === value) return;
        last = `${code} ${text}`;
      } catch (error) {
        last = String(error);
      }
      if (performance.now() - begun > MENDED_WITHIN_MS) {
        throw new Error(`${replica.name} takes no writes a minute after all was mended: ${last}`);
      }
      await sleep(50);
    }
  } finally {
    asker.close();
  }
}

export function createProbe(): { method: string; path: string; body: object } {
  return { method: 'POST', path: TEAMS, body: { metadata: { name: 'probe' }, spec: {} } };
}

/** All repositories come to the same commit, and git has nothing to say against them. */
export async function expectMirrors(scene: Scene): Promise<string> {
  const repositories = scene.set.replicas.map(({ dataDir }) => repositoryOf(dataDir));
  const giveUp = performance.now() + MENDED_WITHIN_MS;
  let heads: string[];
  do {
    heads = await Promise.all(repositories.map((one) => one.head().catch(String)));
    if (new Set(heads).size === 1) break;
    await sleep(100);
  } while (performance.now() < giveUp);
  if (new Set(heads).size > 1) scene.violation(`repositories differ: ${heads.join(', ')}`);
  for (const [index, repository] of repositories.entries()) {
    const damage = await repository.damage();
    if (damage !== undefined) scene.violation(`the repository of r${index + 1}: ${damage}`);
  }
  return heads[0] ?? '';
}

/** One commit for each request that was answered well, none for the others, and none of nobody. */
export async function expectCommits(scene: Scene, since: string): Promise<LoggedCommit[]> {
  const [first] = scene.set.replicas;
  if (first === undefined) return [];
  const commits = await repositoryOf(first.dataDir).commits(`${since}..refs/heads/main`);
  const made = new Map<string, string>();
  for (const { id, key, subject } of commits) {
    const asked = scene.keys.has(id) ? id : key;
    if (asked === undefined || !scene.keys.has(asked)) {
      scene.violation(`nobody asked for commit ${id} ${subject}`);
    } else if (made.has(asked)) scene.violation(`${asked} became two commits`, 'doubled');
    else made.set(asked, id);
    if (scene.refused.has(id)) scene.violation(`push ${id} was refused and is in history`);
  }
  for (const { key, commit, output, input, name, end } of scene.operations) {
    if (key === undefined || output === undefined) continue;
    const found = made.get(key);
    const what = `${input.op} of ${name} with ${key}`;
    if (output.ok && found === undefined) {
      if (changes(output, commit)) {
        scene.violation(`${what} was acknowledged and is in no commit`, 'lost');
      }
    } else if (!output.ok && found !== undefined) {
      scene.violation(`${what} was refused (${end}) and is commit ${found}`);
    } else if (output.ok && commit !== undefined && commit !== found) {
      scene.violation(`${what} is commit ${found}, and the answer said ${commit}`);
    }
  }
  return commits;
}

/** A write that changes nothing makes no commit, and its answer names none. */
function changes(output: Output, commit: string | undefined): boolean {
  return commit !== undefined || (output.ok && output.version === undefined);
}

/** What became of those without an answer is in history: they happened at any time, or never. */
function settled(operations: readonly Recorded[], commits: readonly LoggedCommit[]): Recorded[] {
  const keys = new Set(commits.flatMap(({ id, key }) => [id, ...(key === undefined ? [] : [key])]));
  return operations.flatMap((operation) => {
    if (operation.output !== undefined) return [operation];
    const done = operation.key !== undefined && keys.has(operation.key);
    return done ? [{ ...operation, output: { ok: true } as const }] : [];
  });
}

export function expectLinearizable(scene: Scene, commits: readonly LoggedCommit[]): void {
  const operations = settled(scene.operations, commits);
  for (const name of scene.names) {
    const own = operations.filter((operation) => operation.name === name);
    const history = scene.isPutBack ? own.flatMap(withoutVersion) : own;
    const verdict = check<ReturnType<typeof initial>, Input, Output>(objectModel, history);
    if (verdict.linearizable) continue;
    const shown = told(history, verdict);
    scene.violation(`what was seen of ${name} is not one order:\n${shown}`, 'stale');
  }
}

/** Where versions begin anew, values tell: each is written once. What a version refused says nothing then. */
function withoutVersion(operation: Recorded): Recorded[] {
  const { input, output } = operation;
  if (output?.ok === false && output.reason === 'Conflict') return [];
  return [
    {
      ...operation,
      input: input.op === 'update' ? { ...input, version: 'any' } : input,
      output: output?.ok && output.version !== undefined ? { ...output, version: 'any' } : output,
    },
  ];
}

const SHOWN_BEFORE_MS = 2_000;

/** What happened around the place where no order goes on, and which of it has a place before that. */
function told(history: readonly Recorded[], verdict: ReturnType<typeof check>): string {
  const placed = new Set<unknown>(verdict.longest);
  const stuck = new Set<unknown>(verdict.stuck);
  const ends = verdict.stuck.map(({ called }) => called);
  const [first, last] = [Math.min(...ends) - SHOWN_BEFORE_MS, Math.max(...ends)];
  const lines = history
    .filter(({ called, returned }) => returned >= first && called <= last)
    .sort((a, b) => a.called - b.called)
    .map((operation) => {
      const { input, output, called, returned, key, commit, end } = operation;
      const place = placed.has(operation) ? ' ' : stuck.has(operation) ? '!' : '?';
      const times = `${(called - first).toFixed(1)} to ${(returned - first).toFixed(1)}`;
      const what = `${JSON.stringify(input)} -> ${JSON.stringify(output)}`;
      return `    ${place} ${times} ${what} (${key ?? ''} ${commit ?? ''} ${end})`;
    });
  const state = verdict.longest.at(-1);
  return [...lines, `    the last with a place: ${JSON.stringify(state)}`].join('\n');
}

function initial() {
  return objectModel.initial;
}

/** Every watch has every version once, as it was answered; and all of them the same. */
export async function expectWatches(
  scene: Scene,
  watches: readonly WanderingWatch[],
): Promise<void> {
  const last = await markTheEnd(scene);
  const giveUp = performance.now() + MENDED_WITHIN_MS;
  const isBehind = (watch: WanderingWatch): boolean =>
    watch.from < last && (watch.seen.at(-1)?.version ?? 0) < last;
  while (watches.some(isBehind) && performance.now() < giveUp) await sleep(50);
  for (const watch of watches) await watch.end();
  for (const [index, watch] of watches.entries()) {
    if (isBehind(watch)) scene.violation(`watch ${index} does not come to version ${last}`);
    expectAnswersIn(scene, watch, index);
  }
  expectSame(scene, watches);
}

async function markTheEnd(scene: Scene): Promise<number> {
  const asker = new Asker();
  const { replicas, token } = scene.set;
  const name = `end-${scene.mark()}`;
  const question = { method: 'POST', path: TEAMS, body: { metadata: { name }, spec: {} }, token };
  for (;;) {
    const headers = { 'idempotency-key': scene.key() };
    const [first] = replicas;
    if (first === undefined) throw new Error('There is no replica');
    const { code, body, text } = await asker.ask(first, { ...question, headers });
    if (code === 201) {
      asker.close();
      return Number(body.metadata.resourceVersion);
    }
    if (code < 500) throw new Error(`The last write was answered ${code} ${text}`);
  }
}

function expectAnswersIn(scene: Scene, watch: WanderingWatch, index: number): void {
  const values = new Map(watch.seen.map(({ version, value }) => [version, value]));
  for (const { output, input, name, commit } of scene.operations) {
    if (output?.ok !== true || output.version === undefined || commit === undefined) continue;
    const version = Number(output.version);
    if (version <= watch.from || values.get(version) === output.value) continue;
    scene.violation(
      `watch ${index} has ${values.get(version)} at ${version}: ${input.op} of ${name} was answered ${output.value}`,
    );
  }
}

function expectSame(scene: Scene, watches: readonly WanderingWatch[]): void {
  const from = Math.max(...watches.map((watch) => watch.from));
  const texts = watches.map((watch) =>
    watch.seen
      .filter(({ version }) => version > from)
      .map(({ version, type, name, value }) => `${version} ${type} ${name} ${value}`),
  );
  for (const [index, lines] of texts.entries()) {
    const other = texts[0] ?? [];
    const at = other.findIndex((line, i) => line !== lines[i]);
    if (at === -1 && lines.length === other.length) continue;
    const place = at === -1 ? other.length : at;
    scene.violation(
      `watches differ: ${index} has ${lines[place]} where the first has ${other[place]}`,
    );
  }
}

interface List {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

function differencesOf(one: List, other: List): string[] {
  const texts = ({ items }: List): Map<string, string> =>
    new Map(items.map((item) => [item.metadata.name, JSON.stringify(item)]));
  const [here, there] = [texts(one), texts(other)];
  const names = [...new Set([...here.keys(), ...there.keys()])];
  return names
    .filter((name) => here.get(name) !== there.get(name))
    .map((name) => `${here.get(name)} and ${there.get(name)}`);
}

/** All replicas serve the same, and so does a daemon that knows nothing but history. */
export async function expectSameState(scene: Scene): Promise<void> {
  const [first, ...others] = scene.set.replicas;
  if (first === undefined) return;
  const asker = new Asker();
  const { token } = scene.set;
  const read = async (replica: Replica): Promise<List> => {
    const giveUp = performance.now() + MENDED_WITHIN_MS;
    for (;;) {
      const { code, body, text } = await asker.ask(replica, { path: TEAMS, token });
      if (code === 200) return body;
      if (performance.now() > giveUp) throw new Error(`${replica.name} lists nothing: ${text}`);
      await sleep(100);
    }
  };
  const one = await read(first);
  for (const other of others) {
    const found = await read(other);
    const differences = differencesOf(one, found);
    if (differences.length === 0) continue;
    const again = differencesOf(await read(first), found).length;
    const at = `at ${one.metadata.resourceVersion}, ${found.metadata.resourceVersion}`;
    const which = differences.slice(0, 3).join('; ');
    scene.violation(
      `${other.name} serves other teams than r1 (${at}; ${again} differ when r1 is asked again): ${which}`,
    );
  }
  asker.close();
  for (const difference of await rebuildDifferences(first.daemon)) {
    scene.violation(`rebuilt: ${difference}`);
  }
}
