/** A client that writes to objects of its own, one request at a time, until the daemon is gone. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, CallOptions, Daemon } from '../support/daemon.ts';
import type { Random } from '../support/random.ts';
import type { Journal } from './journal.ts';
import { created, fits, type Life, specOf, type View, viewOf } from './life.ts';

const MERGE_PATCH = 'application/merge-patch+json';
const FINALIZER = 'example.com/hold';
const LONGEST_PAUSE_MS = 25;
const ROOM_FOR_PUSHES_MS = 150;

interface Request {
  readonly count: keyof Journal['counts'];
  readonly method: string;
  readonly path: string;
  readonly options: CallOptions;
  readonly expected: View | null;
  readonly commits: boolean;
}

export interface ApiClientOptions {
  readonly daemon: Daemon;
  readonly lives: readonly Life[];
  readonly journal: Journal;
  readonly random: Random;
  stopped(): boolean;
}

/** Ends at the first request that has no answer, or when it is told to. */
export async function writeByApi(options: ApiClientOptions): Promise<void> {
  const { lives, journal, random, stopped } = options;
  while (!stopped()) {
    const life = random.pick(lives.filter(({ pending }) => pending === undefined));
    if (!(await write(options, life))) return;
    await sleep(random.below(LONGEST_PAUSE_MS) + ROOM_FOR_PUSHES_MS * journal.pushesLost);
  }
}

/** False when there was no answer. */
async function write(options: ApiClientOptions, life: Life): Promise<boolean> {
  const { daemon, journal, random } = options;
  const key = journal.key(life.name);
  const request = nextRequest(life, key, random);
  const { method, path, expected, commits } = request;
  life.pending = { key, expected, commits };
  let answer: Answer;
  try {
    const headers = { 'idempotency-key': key };
    answer = await daemon.call(method, path, { ...request.options, headers });
  } catch {
    return false;
  }
  if (answer.code >= 500) return refused(options, life, answer);
  life.pending = undefined;
  journal.answered();
  if (answer.code >= 300) {
    journal.violation(`${key}: ${method} ${path} was answered ${answer.code} ${answer.text}`);
    return false;
  }
  acknowledge(journal, life, { key, request, answer });
  return true;
}

function acknowledge(
  journal: Journal,
  life: Life,
  { key, request, answer }: { key: string; request: Request; answer: Answer },
): void {
  const { expected, commits, count } = request;
  const header = (name: string): string | undefined => answer.headers[name] as string | undefined;
  const commit = header('gitplane-commit');
  journal.counts[count] += 1;
  if (commits && count !== 'deletes' && commit === undefined) {
    journal.violation(`${key}: the answer names no commit`);
  }
  if (commits) journal.acknowledged.push({ key, commit, requestId: header('audit-id') });
  const object = answer.json();
  if (expected !== null) {
    const found = viewOf(object);
    if (!fits(found, expected)) {
      const texts = [found, expected].map((view) => JSON.stringify(view));
      journal.violation(`${key}: the answer is ${texts[0]}, expected ${texts[1]}`);
    }
    life.known = found;
    life.resourceVersion = object.metadata.resourceVersion;
    journal.sawVersion(life.resourceVersion);
    journal.answers.add(`${life.kind}/${life.name}@${life.resourceVersion}`);
  } else life.known = null;
}

/** What a server that says 5xx did not do, it must not have done: the key stays to be checked. */
async function refused(options: ApiClientOptions, life: Life, answer: Answer): Promise<boolean> {
  const { daemon, journal } = options;
  journal.refused(`${answer.code} ${messageOf(answer)}`);
  const { pending } = life;
  try {
    const now = await daemon.call('GET', `${life.collection}/${life.name}`);
    // A daemon that is stopping says nothing about the object: the key stays to be checked.
    if (now.code === 503) return false;
    const found = now.code === 404 ? null : viewOf(now.json());
    if (!fits(found, life.known)) {
      journal.violation(`${pending?.key}: answered ${answer.code} ${answer.text}, and was done`);
    }
    life.pending = undefined;
    return true;
  } catch {
    return false;
  }
}

function messageOf({ text }: Answer): string {
  try {
    return JSON.parse(text).message;
  } catch {
    return text;
  }
}

function nextRequest(life: Life, mark: string, random: Random): Request {
  const { known, kind, name, collection } = life;
  const path = `${collection}/${name}`;
  if (known === null) {
    const finalizers = random.chance(0.3) ? [FINALIZER] : [];
    const metadata = { name, ...(finalizers.length === 0 ? {} : { finalizers }) };
    const body = { metadata, spec: specOf(kind, mark) };
    const expected = created(kind, mark, finalizers);
    return write_('creates', 'POST', collection, { body }, expected);
  }
  if (known.terminating) {
    const options = { body: { metadata: { finalizers: null } }, type: MERGE_PATCH };
    return { ...write_('finalized', 'PATCH', path, options, null), commits: false };
  }
  const roll = random.next();
  if (roll < 0.2) {
    const held = known.finalizers.length > 0;
    const expected = held
      ? { ...known, terminating: true, generation: known.generation + 1 }
      : null;
    return write_('deletes', 'DELETE', path, {}, expected);
  }
  if (roll < 0.45) return replacement(life, known, mark);
  return patch(path, kind, { known, mark, labels: roll > 0.85 });
}

function replacement(life: Life, known: View, mark: string): Request {
  const { kind, name, collection, resourceVersion } = life;
  const { labels, finalizers } = known;
  const spec = specOf(kind, mark);
  const body = { metadata: { name, resourceVersion, labels, finalizers }, spec };
  const expected = { ...known, spec, generation: known.generation + 1 };
  return write_('updates', 'PUT', `${collection}/${name}`, { body }, expected);
}

function patch(
  path: string,
  kind: Life['kind'],
  { known, mark, labels }: { known: View; mark: string; labels: boolean },
): Request {
  const changed = labels ? { metadata: { labels: { mark } } } : { spec: specOf(kind, mark) };
  const expected = labels
    ? { ...known, labels: { ...known.labels, mark } }
    : { ...known, spec: specOf(kind, mark), generation: known.generation + 1 };
  return write_('patches', 'PATCH', path, { body: changed, type: MERGE_PATCH }, expected);
}

function write_(
  count: Request['count'],
  method: string,
  path: string,
  options: CallOptions,
  expected: View | null,
): Request {
  return { count, method, path, options, expected, commits: true };
}
