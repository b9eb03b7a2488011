/** Lists and watches: one total order, nothing missing, nothing twice. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, API, type Daemon, startDaemon } from '../support/daemon.ts';
import { type WatchEvent, watching } from './watching.ts';

const SECRETS = `${API}/sharedsecrets`;
const MERGE_PATCH = 'application/merge-patch+json';

/** Of namespace `list`, for the tests of lists; nothing writes there later. */
const OBJECTS: Record<string, Record<string, string>> = {
  a: { tier: 'gold', size: '5' },
  b: { tier: 'silver', size: '10' },
  c: { tier: 'gold' },
  d: {},
};

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
  for (const [name, labels] of Object.entries(OBJECTS)) await create('list', name, labels);
});
afterAll(async () => {
  await daemon.stop();
});

function at(namespace: string): string {
  return `${API}/namespaces/${namespace}/sharedsecrets`;
}

async function create(namespace: string, name: string, labels: object = {}): Promise<number> {
  const body = { metadata: { name, labels }, spec: {} };
  const answer = await daemon.call('POST', at(namespace), { body });
  expect(answer.code, answer.text).toBe(201);
  return Number(answer.json().metadata.resourceVersion);
}

async function label(namespace: string, name: string, labels: object): Promise<Answer> {
  const body = { metadata: { labels } };
  return await daemon.call('PATCH', `${at(namespace)}/${name}`, { body, type: MERGE_PATCH });
}

function remove(namespace: string, name: string): Promise<Answer> {
  return daemon.call('DELETE', `${at(namespace)}/${name}`);
}

interface List {
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: { metadata: { name: string; resourceVersion: string } }[];
}

async function list(path: string, query: Record<string, string> = {}): Promise<List> {
  const answer = await daemon.call('GET', `${path}?${new URLSearchParams(query)}`);
  expect(answer.code, answer.text).toBe(200);
  return answer.json();
}

function names({ items }: List): string {
  return items.map(({ metadata }) => metadata.name).join(' ');
}

function shown(events: readonly WatchEvent[]): string[] {
  return events.map(({ type, object }) => `${type} ${object.metadata.name}`);
}

describe('a list', () => {
  // covers: metadata.labels
  test.each([
    ['labelSelector', 'tier=gold', 'a c'],
    ['labelSelector', 'tier==silver', 'b'],
    ['labelSelector', 'tier!=gold', 'b d'],
    ['labelSelector', 'tier in (gold, silver)', 'a b c'],
    ['labelSelector', 'tier notin (gold)', 'b d'],
    ['labelSelector', 'tier', 'a b c'],
    ['labelSelector', '!tier', 'd'],
    ['labelSelector', 'size>7', 'b'],
    ['labelSelector', 'tier=gold,size', 'a'],
    ['labelSelector', 'tier=gold,tier=silver', ''],
    ['fieldSelector', 'metadata.name=c', 'c'],
    ['fieldSelector', 'metadata.name!=c', 'a b d'],
    ['fieldSelector', 'metadata.namespace=list,metadata.name=a', 'a'],
    ['fieldSelector', 'metadata.namespace=other', ''],
  ])('a list with %s %s has %j', async (parameter, selector, expected) => {
    const found = await list(at('list'), { [parameter]: selector });
    expect(names(found)).toBe(expected);
    const pages = [];
    for (let next: string | undefined = ''; next !== undefined; ) {
      const page: List = await list(at('list'), {
        [parameter]: selector,
        limit: '1',
        continue: next,
      });
      expect(page.metadata).not.toHaveProperty('remainingItemCount');
      pages.push(...page.items);
      next = page.metadata.continue;
    }
    expect(pages).toEqual(found.items);
  });

  test('a list in pages shows the state of the first page, whatever is written meanwhile', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await create('pages', name);
    const whole = await list(at('pages'));
    const first = await list(at('pages'), { limit: '2' });
    expect([names(first), first.metadata.remainingItemCount]).toEqual(['a b', 3]);
    await remove('pages', 'c');
    await label('pages', 'd', { changed: 'yes' });
    await create('pages', 'cc');
    const second = await list(at('pages'), { limit: '2', continue: first.metadata.continue ?? '' });
    expect([names(second), second.metadata.remainingItemCount]).toEqual(['c d', 1]);
    const third = await list(at('pages'), { limit: '2', continue: second.metadata.continue ?? '' });
    expect(third.metadata).toEqual({ resourceVersion: first.metadata.resourceVersion });
    expect([...first.items, ...second.items, ...third.items]).toEqual(whole.items);
    expect(names(await list(at('pages')))).toBe('a b cc d e');
  });

  test('goes on only where its token belongs', async () => {
    const { metadata } = await list(SECRETS, { limit: '1' });
    const token = encodeURIComponent(metadata.continue ?? '');
    expect((await daemon.call('GET', `${SECRETS}?continue=${token}`)).code).toBe(200);
    const elsewhere = await daemon.call('GET', `${at('past')}?continue=${token}`);
    expect([elsewhere.code, elsewhere.json().reason]).toEqual([400, 'BadRequest']);
    const both = await daemon.call('GET', `${SECRETS}?continue=${token}&resourceVersion=5`);
    expect(both.json().message).toContain(
      'specifying resource version is not allowed when using continue',
    );
  });

  test('a list of a past version, plus the events since, equals the current list', async () => {
    await create('past', 'stays');
    await create('past', 'goes');
    const { metadata, items } = await list(at('past'));
    const { resourceVersion } = metadata;
    await remove('past', 'goes');
    await label('past', 'stays', { now: 'changed' });
    await create('past', 'comes');
    const exact = { resourceVersion, resourceVersionMatch: 'Exact' };
    expect(await list(at('past'), exact)).toMatchObject({ metadata: { resourceVersion }, items });
    const watch = await watching(
      daemon,
      `${at('past')}?watch=1&resourceVersion=${resourceVersion}`,
    );
    const objects = new Map(items.map((item) => [item.metadata.name, item]));
    for (const { type, object } of await watch.atLeast(3)) {
      if (type === 'DELETED') objects.delete(object.metadata.name);
      else objects.set(object.metadata.name, object);
    }
    watch.close();
    const now = await list(at('past'));
    expect(
      [...objects.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    ).toEqual(now.items);
    const newer = await list(at('past'), { resourceVersion, resourceVersionMatch: 'NotOlderThan' });
    expect(newer.items).toEqual(now.items);
  });
});

describe('a watch', () => {
  // covers: metadata.resourceVersion.changes
  // covers: events.watch
  test('sends the existing objects, then the changes, in order and with growing versions', async () => {
    await create('live', 'old');
    const watch = await watching(daemon, `${at('live')}?watch=true`);
    await watch.atLeast(1);
    await create('live', 'new');
    await label('live', 'new', { a: 'b' });
    await label('live', 'new', { a: 'b' });
    await create('elsewhere', 'unseen');
    await remove('live', 'new');
    const events = await watch.atLeast(4);
    watch.close();
    expect(shown(events)).toEqual(['ADDED old', 'ADDED new', 'MODIFIED new', 'DELETED new']);
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
    expect(events[3]?.object).toMatchObject({
      kind: 'SharedSecret',
      metadata: { labels: { a: 'b' } },
    });
  });

  // covers: metadata.resourceVersion.watch
  test('goes on from any version it has seen', async () => {
    const { resourceVersion } = (await list(at('resume'))).metadata;
    await create('resume', 'one');
    const middle = await create('resume', 'two');
    await remove('resume', 'one');
    const since = async (version: number | string, count: number): Promise<string[]> => {
      const watch = await watching(daemon, `${at('resume')}?watch=1&resourceVersion=${version}`);
      const events = shown(await watch.atLeast(count));
      watch.close();
      return events;
    };
    expect(await since(resourceVersion, 3)).toEqual(['ADDED one', 'ADDED two', 'DELETED one']);
    expect(await since(middle, 1)).toEqual(['DELETED one']);
  });

  test('a watch through a selector sees objects come into it and leave it', async () => {
    const { resourceVersion } = (await list(at('select'))).metadata;
    const query = new URLSearchParams({ watch: '1', resourceVersion, labelSelector: 'seen=yes' });
    const watch = await watching(daemon, `${at('select')}?${query}`);
    await create('select', 'x');
    await label('select', 'x', { seen: 'yes' });
    await label('select', 'x', { other: 'label' });
    await label('select', 'x', { seen: 'no' });
    await label('select', 'x', { other: 'again' });
    await label('select', 'x', { seen: 'yes' });
    await remove('select', 'x');
    const events = await watch.atLeast(5);
    watch.close();
    expect(shown(events)).toEqual(['ADDED x', 'MODIFIED x', 'DELETED x', 'ADDED x', 'DELETED x']);
    expect(events[2]?.object.metadata.labels).toEqual({ seen: 'yes', other: 'label' });
  });

  test('a watch of one name reports that name alone', async () => {
    const query = 'watch=1&fieldSelector=metadata.name%3Dwanted&resourceVersion=0';
    const watch = await watching(daemon, `${at('named')}?${query}`);
    await create('named', 'other');
    await create('named', 'wanted');
    expect(shown(await watch.atLeast(1))).toEqual(['ADDED wanted']);
    watch.close();
  });

  test('marks where it is before it ends by its timeout', async () => {
    const { resourceVersion } = (await list(at('list'))).metadata;
    const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=${resourceVersion}`;
    const watch = await watching(daemon, `${at('list')}?${query}`);
    const later = await create('bookmark', 'moves-the-version');
    const events = await watch.ended();
    expect(events).toMatchObject([
      {
        type: 'BOOKMARK',
        object: { kind: 'SharedSecret', apiVersion: 'management.gitplane.dev/v1' },
      },
    ]);
    expect(Number(events[0]?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(later);
    expect(events[0]?.object).not.toHaveProperty('spec');
  });

  test('sends no bookmark to a user who did not ask', async () => {
    const watch = await watching(daemon, `${at('nothing')}?watch=1&timeoutSeconds=1`);
    expect(await watch.ended()).toEqual([]);
  });

  test('a watch from before the journal ends with the demand to list again', async () => {
    const watch = await watching(daemon, `${SECRETS}?watch=1&resourceVersion=1`);
    const [event, ...more] = await watch.ended();
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      type: 'ERROR',
      object: { kind: 'Status', status: 'Failure', code: 410, reason: 'Expired' },
    });
    expect(event?.object.message).toMatch(/^too old resource version: 1 \(\d+\)$/);
  });

  test('a watch with sendInitialEvents marks the end of the initial objects', async () => {
    const query = new URLSearchParams({
      watch: '1',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
    });
    const watch = await watching(daemon, `${at('list')}?${query}`);
    const events = await watch.atLeast(5);
    watch.close();
    expect(shown(events.slice(0, 4))).toEqual(['ADDED a', 'ADDED b', 'ADDED c', 'ADDED d']);
    expect(events[4]).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    });
    const wrong = await daemon.call('GET', `${SECRETS}?watch=1&sendInitialEvents=true`);
    expect([wrong.code, wrong.json().reason]).toEqual([422, 'Invalid']);
  });

  test('a watch as a table has its columns in the first event only', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const watch = await watching(daemon, `${at('list')}?watch=1`, { accept });
    const events = await watch.atLeast(4);
    watch.close();
    const columns = events.map(({ object }) => object.columnDefinitions?.length > 0);
    expect(columns).toEqual([true, false, false, false]);
    expect(events.map(({ object }) => object.rows[0].cells[0])).toEqual(['a', 'b', 'c', 'd']);
  });

  test('sees each object of a push of several commits once', async () => {
    const { resourceVersion } = (await list(at('pushed'))).metadata;
    const watch = await watching(
      daemon,
      `${at('pushed')}?watch=1&resourceVersion=${resourceVersion}`,
    );
    const clone = await daemon.clone();
    const folder = join(clone, 'namespaces/pushed');
    await mkdir(folder, { recursive: true });
    const manifest = (name: string): string =>
      `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata:\n  name: ${name}\nspec: {}\n`;
    for (const name of ['one', 'two']) {
      await writeFile(join(folder, `${name}.yaml`), manifest(name));
      await daemon.git(['add', '.'], clone);
      await daemon.git(['commit', '-qm', name], clone);
    }
    expect((await daemon.git(['push', '-q'], clone)).code).toBe(0);
    await create('pushed', 'zz-end');
    const events = await watch.atLeast(3);
    watch.close();
    expect(shown(events).sort()).toEqual(['ADDED one', 'ADDED two', 'ADDED zz-end']);
  });

  test('a watch of many concurrent writers misses and repeats no event', async () => {
    const { resourceVersion } = (await list(at('busy'))).metadata;
    const path = `${at('busy')}?watch=1&resourceVersion=${resourceVersion}`;
    const [early, other] = [await watching(daemon, path), await watching(daemon, path)];
    const worker = async (id: number): Promise<void> => {
      for (let i = 0; i < 5; i++) {
        await create('busy', `w${id}-${i}`);
        await label('busy', `w${id}-${i}`, { round: String(i) });
        if (i % 2 === 0) await remove('busy', `w${id}-${i}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, id) => worker(id)));
    const count = 8 * (5 + 5 + 3);
    const events = await early.atLeast(count);
    const late = await watching(daemon, path);
    expect(await other.atLeast(count)).toEqual(events);
    expect(await late.atLeast(count)).toEqual(events);
    for (const watch of [early, other, late]) watch.close();
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    expect(new Set(versions).size).toBe(count);
    const left = new Set<string>();
    for (const { type, object } of events) {
      expect(left.has(object.metadata.name)).toBe(type !== 'ADDED');
      if (type === 'DELETED') left.delete(object.metadata.name);
      else left.add(object.metadata.name);
    }
    expect([...left].sort().join(' ')).toBe(names(await list(at('busy'))));
  });
});

test('a stop ends watches cleanly', async () => {
  const watch = await watching(daemon, `${at('list')}?watch=1`);
  await watch.atLeast(4);
  const code = daemon.stop();
  expect(await watch.ended()).toHaveLength(4);
  expect(await code).toBe(0);
});
