/** Updates, patches and applies by several managers, in any order, beside a naive model of them. */

import fc from 'fast-check';
import type { Operation } from 'fast-json-patch';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, API, type Daemon, startDaemon } from '../support/daemon.ts';
import { runs } from '../support/properties.ts';
import {
  bodyOf,
  type Content,
  jsonPatch,
  leavesOf,
  leavesOfFields,
  mergePatch,
  NaiveObject,
} from './naive-object.ts';

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

const KEYS = ['app', 'tier', 'example.com/zone'];
const TEXTS = ['', 'a', 'b c', 'ünï', '#no comment', 'yes', '007', 'x: y'];
const map = (values: readonly string[]): fc.Arbitrary<Record<string, string>> =>
  fc.dictionary(fc.constantFrom(...KEYS), fc.constantFrom(...values), { maxKeys: 3 });
const content: fc.Arbitrary<Content> = fc.record(
  {
    labels: map(['', 'a', 'b', '7']),
    annotations: map(TEXTS),
    displayName: fc.constantFrom(...TEXTS),
    description: fc.constantFrom(...TEXTS),
    users: fc.uniqueArray(fc.constantFrom('ada', 'ben', 'cyd'), { minLength: 1 }),
    clusterRoles: fc.uniqueArray(
      fc.constantFrom('edit', 'view').map((name) => ({ name })),
      { minLength: 1, selector: ({ name }) => name },
    ),
  },
  { requiredKeys: [] },
);

/** A merge patch: values, and null for what is to go. */
const removing = fc.subarray([
  '/metadata/labels/app',
  '/metadata/annotations/tier',
  '/metadata/annotations',
  '/spec/displayName',
  '/spec/users',
  '/spec/clusterRoles',
]);

type Step = { readonly manager: string } & (
  | { readonly verb: 'put'; readonly content: Content }
  | { readonly verb: 'merge'; readonly content: Content; readonly without: readonly string[] }
  | { readonly verb: 'json'; readonly content: Content; readonly without: readonly string[] }
  | { readonly verb: 'apply'; readonly content: Content; readonly force: boolean }
);

const step: fc.Arbitrary<Step> = fc
  .record({
    manager: fc.constantFrom('one', 'two', 'three'),
    verb: fc.constantFrom('put', 'merge', 'json', 'apply', 'apply'),
    content,
    without: removing,
    force: fc.boolean(),
  })
  .map((of) => of as unknown as Step);

// biome-ignore lint/suspicious/noExplicitAny: objects of every shape
type Any = any;

/** The parts of an answer that the model covers. */
function shown({ metadata, spec }: Any): Any {
  const { labels, annotations } = metadata;
  return JSON.parse(JSON.stringify({ metadata: { labels, annotations }, spec: spec ?? {} }));
}

function withNulls(patch: Any, without: readonly string[]): Any {
  for (const pointer of without) {
    const steps = pointer.split('/').slice(1);
    const last = steps.pop() ?? '';
    let at = patch;
    for (const name of steps) {
      at[name] ??= {};
      at = at[name];
    }
    at[last] = null;
  }
  return patch;
}

/** Adds and replaces what the content has, and removes what is there to be removed. */
function operations(current: Any, content: Content, without: readonly string[]): Operation[] {
  const patch: Operation[] = [];
  let now = current;
  const add = (operation: Operation): void => {
    patch.push(operation);
    now = jsonPatch(now, [operation]);
  };
  const { metadata, spec } = bodyOf(content);
  for (const [name, value] of Object.entries(metadata)) {
    const at = `/metadata/${name}`;
    if (now.metadata[name] === undefined) add({ op: 'add', path: at, value: {} });
    for (const [key, text] of Object.entries(value as object)) {
      add({ op: 'add', path: `${at}/${key.replace('/', '~1')}`, value: text });
    }
  }
  for (const [name, value] of Object.entries(spec)) {
    const op = now.spec[name] === undefined ? 'add' : 'replace';
    add({ op, path: `/spec/${name}`, value });
  }
  for (const path of without) {
    const [, first = '', second = '', third] = path.split('/');
    const parent = third === undefined ? now[first] : now[first][second];
    if (parent?.[third ?? second] !== undefined) add({ op: 'remove', path });
  }
  return patch;
}

let made = 0;

async function send(name: string, of: Step, live: Any): Promise<Answer> {
  const path = `${API}/teams/${name}?fieldManager=${of.manager}`;
  const head = { apiVersion: 'management.gitplane.dev/v1', kind: 'Team' };
  const { metadata, spec } = bodyOf(of.content);
  switch (of.verb) {
    case 'put': {
      const { resourceVersion } = live.metadata;
      const body = { ...head, metadata: { ...metadata, name, resourceVersion }, spec };
      return await daemon.call('PUT', path, { body });
    }
    case 'merge': {
      const body = withNulls({ metadata, spec }, of.without);
      return await daemon.call('PATCH', path, { body, type: 'application/merge-patch+json' });
    }
    case 'json': {
      const body = operations(shown(live), of.content, of.without);
      return await daemon.call('PATCH', path, { body, type: 'application/json-patch+json' });
    }
    case 'apply': {
      const body = { ...head, metadata: { ...metadata, name }, spec };
      const query = of.force ? '&force=true' : '';
      return await daemon.call('PATCH', path + query, {
        body,
        type: 'application/apply-patch+yaml',
      });
    }
  }
}

/** Verdict of the model about a step: false when it must be refused. */
function model(object: NaiveObject, of: Step, live: Any): boolean {
  const body = bodyOf(of.content);
  switch (of.verb) {
    case 'put':
      object.update(of.manager, leavesOf(body));
      return true;
    case 'merge':
      object.update(
        of.manager,
        leavesOf(mergePatch(shown(live), withNulls(bodyOf(of.content), of.without))),
      );
      return true;
    case 'json':
      object.update(
        of.manager,
        leavesOf(jsonPatch(shown(live), operations(shown(live), of.content, of.without))),
      );
      return true;
    case 'apply':
      return object.apply(of.manager, leavesOf(body), of.force);
  }
}

// covers: metadata.annotations.preserved metadata.managedFields.fieldsV1
test('an object and the owners of its fields match a naive model', async () => {
  await fc.assert(
    fc.asyncProperty(
      content,
      fc.array(step, { minLength: 4, maxLength: 12 }),
      async (first, steps) => {
        const name = `model-${made++}`;
        const object = new NaiveObject();
        const { metadata, spec } = bodyOf(first);
        const created = await daemon.call('POST', `${API}/teams?fieldManager=maker`, {
          body: { metadata: { ...metadata, name }, spec },
        });
        expect(created.code, created.text).toBe(201);
        object.update('maker', leavesOf(bodyOf(first)));
        let live = created.json();
        for (const of of steps) {
          const isTaken = model(object, of, live);
          const answer = await send(name, of, live);
          expect(answer.code, `${JSON.stringify(of)}: ${answer.text}`).toBe(isTaken ? 200 : 409);
          live = (await daemon.call('GET', `${API}/teams/${name}`)).json();
          const told = JSON.stringify(of);
          expect(sorted(leavesOf(shown(live))), told).toEqual(sorted(object.leaves));
          expect(ownersOf(live), told).toEqual(sorted(object.owners, (owned) => [...owned].sort()));
        }
      },
    ),
    { numRuns: runs(10) },
  );
});

function sorted<V>(map: ReadonlyMap<string, V>, show: (value: V) => unknown = (v) => v): Any {
  return Object.fromEntries([...map].sort().map(([key, value]) => [key, show(value)]));
}

function ownersOf({ metadata }: Any): Any {
  const entries = (metadata.managedFields ?? []).map((entry: Any) => [
    `${entry.manager} ${entry.operation}`,
    leavesOfFields(entry.fieldsV1).sort(),
  ]);
  return Object.fromEntries(entries.filter(([, leaves]: Any) => leaves.length > 0).sort());
}
