import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runAtOnce } from '../../src/apimachinery/yield.ts';
import { applyCommit } from '../../src/catalog/apply-commit.ts';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { CatalogObject } from '../../src/catalog/catalog-object.ts';
import { Contents } from '../../src/catalog/contents.ts';
import type { FileEntry } from '../../src/catalog/file.ts';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { problemsOf } from '../../src/catalog/problems.ts';
import { objectId } from '../../src/git/objects/object-id.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { copyOf } from './full-copies.ts';
import { picture } from './picture.ts';

const reader = fileReader(buildKindTable('management.gitplane.dev'), '');
const ROOT = 'f'.repeat(40);

/** A history of file changes, folded one commit at a time. */
class History {
  readonly catalog = new Catalog(ROOT);
  #time = 1_700_000_000;

  commit(id: string, changes: Record<string, string | null>, otherParents: Catalog[] = []) {
    return this.catalog.advance({ ...this.step(id, changes), otherParents });
  }

  step(id: string, changes: Record<string, string | null>) {
    const files = new Map<string, FileEntry | undefined>();
    for (const [path, text] of Object.entries(changes)) {
      const content = Buffer.from(text ?? '');
      const entry =
        text === null ? undefined : reader.read(path, objectId('blob', content), content);
      files.set(path, entry);
    }
    return { commit: { id, committerTime: this.#time++ }, files };
  }

  team(name: string): CatalogObject | undefined {
    return this.catalog.object(teamKey(name));
  }
}

function teamKey(name: string) {
  return { group: 'management.gitplane.dev', kind: 'Team', namespace: '', name };
}

function team(name: string, spec = '  displayName: One\n', labels = ''): string {
  return `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: ${name}\n${labels}spec:\n${spec}`;
}

const BROKEN = 'apiVersion: management.gitplane.dev/v1\nkind: Team\n  metadata: [\n';

describe('identity', () => {
  test('an object keeps its uid, creation time and generation when its file moves', () => {
    const history = new History();
    history.commit('c1', { 'teams/ops.yaml': team('ops') });
    const before = history.team('ops');

    history.commit('c2', { 'teams/ops.yaml': null, 'a/b/elsewhere.yml': team('ops') });

    expect(history.team('ops')?.identity).toEqual(before?.identity);
    expect(history.team('ops')?.place).toEqual({ path: 'a/b/elsewhere.yml', index: 0 });
  });

  test('splitting one file into two and merging two into one changes no uid', () => {
    const history = new History();
    history.commit('c1', { 'all.yaml': `${team('a')}---\n${team('b')}` });
    const uids = [history.team('a'), history.team('b')].map((object) => object?.identity.uid);

    history.commit('c2', { 'all.yaml': null, 'a.yaml': team('a'), 'b.yaml': team('b') });
    history.commit('c3', { 'a.yaml': null, 'b.yaml': `${team('b')}---\n${team('a')}` });

    expect([history.team('a'), history.team('b')].map((object) => object?.identity.uid)).toEqual(
      uids,
    );
    expect(new Set(uids).size).toBe(2);
  });

  test('a merge into a catalog without objects takes the objects of the other line', () => {
    const other = new History();
    other.commit('c1', { 'a.yaml': team('a') });
    other.commit('c2', { 'a.yaml': team('a', '  displayName: Two\n') });
    const merged = new History();
    const step = merged.step('c3', { 'a.yaml': team('a', '  displayName: Two\n') });

    runAtOnce(merged.catalog.absorb({ ...step, otherParents: [other.catalog] }));

    expect(merged.team('a')?.identity).toEqual(other.team('a')?.identity);
    expect(merged.team('a')?.identity.generation).toBe(2);
  });

  // covers: metadata.uid
  test('an object that was deleted and made again is another one', () => {
    const history = new History();
    history.commit('c1', { 'a.yaml': team('a') });
    const first = history.team('a')?.identity;
    history.commit('c2', { 'a.yaml': null });
    expect(history.team('a')).toBeUndefined();

    history.commit('c3', { 'a.yaml': team('a') });

    expect(history.team('a')?.identity.uid).not.toBe(first?.uid);
    expect(history.team('a')?.identity.generation).toBe(1);
  });

  // covers: metadata.generation
  test('the generation grows with desired state, and not with labels, comments or layout', () => {
    const history = new History();
    const generations: (number | undefined)[] = [];
    const commit = (id: string, text: string): void => {
      history.commit(id, { 'a.yaml': text });
      generations.push(history.team('a')?.identity.generation);
    };
    commit('c1', team('a'));
    commit('c2', `# a comment\n${team('a')}`);
    commit('c3', team('a', '  displayName: One\n', '  labels: {x: y}\n'));
    commit('c4', team('a', '  displayName: Two\n'));
    commit('c5', team('a', '  displayName: One\n'));

    expect(generations).toEqual([1, 1, 1, 2, 3]);
  });
});

// covers: metadata.namespace.default
test.each(['', '  namespace: ""\n', '  namespace: default\n'])(
  'a namespaced manifest is in "default" with the namespace %j',
  (namespace) => {
    const history = new History();
    const text = `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata:\n  name: a\n${namespace}spec: {}\n`;
    history.commit('c1', { 'a.yaml': text });

    const key = { ...teamKey('a'), kind: 'SharedSecret', namespace: 'default' };
    expect(history.catalog.object(key)?.manifest.metadata.namespace).toBe('default');
  },
);

describe('a broken manifest harms only itself', () => {
  test('serves the last good version, marked with its place', () => {
    const history = new History();
    history.commit('c1', { 'a.yaml': team('a'), 'b.yaml': team('b') });
    const good = history.team('a');

    history.commit('c2', {
      'a.yaml': team('a', '  displayName: 5\n'),
      'b.yaml': team('b', '  displayName: New\n'),
    });

    expect(history.team('a')?.manifest).toEqual(good?.manifest);
    expect(history.team('a')?.problems).toEqual([
      expect.objectContaining({ path: 'a.yaml', line: 6, col: 16 }),
    ]);
    expect(history.team('b')?.manifest.spec).toEqual({ displayName: 'New' });
  });

  test('survives its own syntax error unpruned, and the repair revives the same object', () => {
    const history = new History();
    history.commit('c1', { 'a.yaml': team('a') });
    const good = history.team('a');

    history.commit('c2', { 'a.yaml': BROKEN });
    expect(history.team('a')?.identity).toEqual(good?.identity);
    expect(history.team('a')?.problems).not.toEqual([]);
    history.commit('c3', { 'a.yaml': team('a') });

    expect(history.team('a')).toMatchObject({ identity: good?.identity, problems: [] });
  });

  test('a document that lost its name shields only the objects of its own file', () => {
    const history = new History();
    history.commit('c1', { 'a.yaml': `${team('a')}---\n${team('b')}`, 'c.yaml': team('c') });

    history.commit('c2', { 'a.yaml': `${team('a')}---\nkind: Team\n`, 'c.yaml': null });

    expect(history.team('b')?.problems).not.toEqual([]);
    expect(history.team('a')?.problems).toEqual([]);
    expect(history.team('c')).toBeUndefined();
  });

  test('a shielded object is pruned once its file reads well without it', () => {
    const history = new History();
    history.commit('c1', { 'a.yaml': `${team('a')}---\n${team('b')}` });
    history.commit('c2', { 'a.yaml': BROKEN });

    history.commit('c3', { 'a.yaml': team('a') });

    expect(history.team('b')).toBeUndefined();
    expect(history.team('a')?.problems).toEqual([]);
  });

  test('removing the broken file removes its objects', () => {
    const history = new History();
    history.commit('c1', { 'a.yaml': team('a') });
    history.commit('c2', { 'a.yaml': BROKEN });

    history.commit('c3', { 'a.yaml': null });

    expect(history.catalog.size).toBe(0);
    expect(history.catalog.problems()).toEqual([]);
  });
});

describe('the same identity twice', () => {
  test('names both places, and the incumbent stays', () => {
    const history = new History();
    history.commit('c1', { 'z.yaml': team('a', '  displayName: Incumbent\n') });

    history.commit('c2', { 'a.yaml': team('a', '  displayName: Newcomer\n') });

    expect(history.team('a')?.manifest.spec).toEqual({ displayName: 'Incumbent' });
    expect(history.catalog.problemsOf(['a.yaml'])).toEqual([
      {
        path: 'a.yaml',
        line: 1,
        col: 1,
        message: 'Team "a" is also at z.yaml:1; keep one of them',
      },
      {
        path: 'z.yaml',
        line: 1,
        col: 1,
        message: 'Team "a" is also at a.yaml:1; keep one of them',
      },
    ]);
  });

  test('the problems of thousands of places are found in short steps', () => {
    const entry = (path: string) => {
      const content = Buffer.from(team('a'));
      return reader.read(path, objectId('blob', content), content);
    };
    const contents = Contents.of();
    const paths = Array.from({ length: 3000 }, (_, i) => `teams/${i}.yaml`);
    const files = new Map(paths.map((path) => [path, entry(path)]));
    const commit = { id: 'c1', committerTime: 1 };
    runAtOnce(applyCommit({ rootCommit: ROOT, contents }, { commit, files }));
    const steps = problemsOf(contents, ['teams/0.yaml']);

    let count = 0;
    let { done, value } = steps.next();
    for (; done !== true; { done, value } = steps.next()) count += 1;

    expect(count).toBeGreaterThan(2 * paths.length);
    expect(value).toHaveLength(paths.length);
    expect(value?.map((problem) => problem.message).slice(5, 7)).toEqual([
      'Team "a" is also at teams/0.yaml:1, teams/1.yaml:1, teams/10.yaml:1, teams/100.yaml:1, teams/1000.yaml:1 and 2994 more places; keep one of them',
      'Team "a" is also at teams/0.yaml:1, teams/1.yaml:1, teams/10.yaml:1, teams/100.yaml:1, teams/1000.yaml:1 and 2994 more places; keep one of them',
    ]);
  });

  test('the other takes over, as the same object, when the incumbent goes', () => {
    const history = new History();
    history.commit('c1', { 'z.yaml': team('a', '  displayName: Incumbent\n') });
    const uid = history.team('a')?.identity.uid;
    history.commit('c2', { 'a.yaml': team('a', '  displayName: Newcomer\n') });

    history.commit('c3', { 'z.yaml': null });

    expect(history.team('a')?.manifest.spec).toEqual({ displayName: 'Newcomer' });
    expect(history.team('a')?.identity.uid).toBe(uid);
    expect(history.catalog.problems()).toEqual([]);
  });
});

describe('a hostile number of documents', () => {
  test('documents that name one object share one short message', () => {
    const history = new History();
    const { changes } = history.commit('c1', {
      'many.yaml': Array.from({ length: 2000 }, () => team('a')).join('---\n'),
      'one.yaml': team('a'),
    });

    const problems = history.catalog.problemsOf(['many.yaml', 'one.yaml']);

    expect(changes).toHaveLength(1);
    expect(problems).toHaveLength(2001);
    expect(problems.at(-1)?.message).toMatch(/also at many\.yaml:1, .* and 1995 more places; keep/);
    expect(Math.max(...problems.map(({ message }) => message.length))).toBeLessThan(200);
  });

  test('problems of one document are listed up to a limit', () => {
    const fields = Array.from({ length: 5000 }, (_, i) => `  unknown${i}: 1\n`).join('');
    const history = new History();
    history.commit('c1', { 'a.yaml': team('a', fields) });

    const problems = history.catalog.problemsOf(['a.yaml']);

    expect(problems).toHaveLength(101);
    expect(problems.map(({ message }) => message)).toContain(
      '… and 4900 more problems in this document',
    );
  });
});

describe('a document of any shape', () => {
  const head = 'apiVersion: management.gitplane.dev/v1\nkind: Team\n';

  test.each([
    head,
    `${head}metadata:\n`,
    `${head}metadata: 5\n`,
    `${head}metadata: []\n`,
    `${head}metadata: {name: a, finalizers: 5}\n`,
    `${head}metadata: {name: a, finalizers: [5, null, {}]}\n`,
    `${head}metadata: {name: a, labels: 5, annotations: [], ownerReferences: {}}\n`,
    `${head}metadata: {name: a, ownerReferences: [null, 5, {}]}\n`,
    `${head}metadata: {name: {}, namespace: []}\n`,
    `${head}metadata: {name: a}\nspec: 5\n`,
    `${head}metadata: {name: a}\nspec: {users: 5, access: 5, owner: 5, clusterRoles: [null]}\n`,
    `${head}metadata: {name: a}\nspec: {access: [null, 5, {users: 5}]}\n`,
    'apiVersion: {}\nkind: []\n',
    '- a\n- b\n',
    'null\n',
  ])('%j is judged, not stumbled over', (text) => {
    const history = new History();

    history.commit('c1', { 'a.yaml': text });

    const problems = history.catalog.problems();
    expect(problems).not.toEqual([]);
    expect(JSON.stringify(problems)).not.toContain('cannot be judged');
  });
});

describe('undo', () => {
  test('puts everything back, whatever the step did', () => {
    const history = new History();
    history.commit('c1', { 'a.yaml': `${team('a')}---\n${team('b')}`, 'c.yaml': team('c') });
    const snapshot = (): unknown => ({
      objects: [...history.catalog.objects()].sort((x, y) => (x.key.name < y.key.name ? -1 : 1)),
      files: [...history.catalog.files()].sort((x, y) => (x.path < y.path ? -1 : 1)),
      claims: ['a', 'b', 'c', 'd'].map((name) => history.catalog.claims(teamKey(name))),
      revision: history.catalog.revision,
    });
    const before = structuredClone(snapshot());

    const { undo } = history.commit('c2', {
      'a.yaml': BROKEN,
      'c.yaml': null,
      'd.yaml': `${team('d')}---\n${team('c')}`,
    });
    expect(snapshot()).not.toEqual(before);
    undo();

    expect(snapshot()).toEqual(before);
  });
});

describe('a layer', () => {
  const text = fc.constantFrom(
    null,
    team('a'),
    team('a', '  displayName: Two\n'),
    `${team('a')}---\n${team('b')}`,
    team('b'),
    `${team('c')}---\n${BROKEN}`,
    BROKEN,
    '',
  );
  const changes = fc.dictionary(fc.constantFrom('a.yaml', 'b.yaml', 'A.yaml', 'x/c.yaml'), text);

  test('a layer is seen by no client, comes to what the step comes to, and can be adopted and undone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(changes, fc.boolean()), { maxLength: 6 }), async (all) => {
        const history = new History();
        const { catalog } = history;
        for (const [i, [files, isKept]] of all.entries()) {
          const step = history.step(`c${i}`, files);
          const before = picture(catalog);
          const direct = copyOf(catalog);
          const size = catalog.size;
          const { changes: wanted } = direct.advance(step);

          const layer = catalog.fork();
          const { changes: made } = await layer.advanceYielding(step);

          expect(picture(catalog)).toEqual(before);
          expect([catalog.isBelow(layer), direct.isBelow(layer)]).toEqual([true, false]);
          expect(made).toEqual(wanted);
          expect(layer.size - size).toBe(direct.size - size);
          const problems = await layer.problemsOfYielding(step.files.keys());
          expect(problems).toEqual(direct.problemsOf(step.files.keys()));
          const undo = catalog.adopt(layer, []);
          expect(picture(catalog)).toEqual(picture(direct));
          expect(catalog.size).toBe(direct.size);
          if (isKept) continue;
          undo();
          expect(picture(catalog)).toEqual(before);
        }
      }),
    );
  });

  test('a layer that advances yields, and others find the catalog below where it was', async () => {
    const history = new History();
    const { catalog } = history;
    const files = Array.from({ length: 4000 }, (_, i) => [`t${i}.yaml`, team(`t${i}`)]);
    const step = history.step('c1', Object.fromEntries(files));
    const layer = catalog.fork();
    const sizes = new Set<number>();
    const looking = setInterval(() => sizes.add(catalog.size));

    const { changes } = await layer.advanceYielding(step);
    await layer.problemsOfYielding(step.files.keys());
    clearInterval(looking);

    expect([...sizes]).toEqual([0]);
    expect(layer.size).toBe(4000);
    expect(changes).toEqual(copyOf(catalog).advance(step).changes);
  });
});

describe('merges', () => {
  test('both sides keep the identity that the older introduction gave', () => {
    const left = new History();
    left.commit('c1', { 'x.yaml': team('x') });
    const right = new History();
    right.commit('c1', { 'x.yaml': team('x') });
    left.commit('c2', { 'a.yaml': team('a') });
    const uid = left.team('a')?.identity.uid;

    right.commit('c3', { 'b.yaml': team('b') });
    right.commit('m', { 'a.yaml': team('a') }, [left.catalog]);

    expect(right.team('a')?.identity.uid).toBe(uid);
    expect(right.team('a')?.identity.generation).toBe(1);
  });

  test('the generation never falls and never repeats with other content', () => {
    const left = new History();
    left.commit('c1', { 'a.yaml': team('a') });
    const right = new History();
    right.commit('c1', { 'a.yaml': team('a') });
    left.commit('c2', { 'a.yaml': team('a', '  displayName: Left\n') });
    right.commit('c3', { 'a.yaml': team('a', '  displayName: Right\n') });

    right.commit('m', { 'a.yaml': team('a', '  displayName: Left\n') }, [left.catalog]);

    expect(right.team('a')?.identity.generation).toBe(3);
  });

  test('a change that only one side made counts once', () => {
    const left = new History();
    left.commit('c1', { 'a.yaml': team('a') });
    const right = new History();
    right.commit('c1', { 'a.yaml': team('a') });
    left.commit('c2', { 'a.yaml': team('a', '  displayName: Left\n') });
    right.commit('c3', { 'b.yaml': team('b') });

    right.commit('m', { 'a.yaml': team('a', '  displayName: Left\n') }, [left.catalog]);

    expect(right.team('a')?.identity.generation).toBe(2);
  });
});

describe('thousands of one kind', () => {
  const LETTERS = [...'abcdefghijklm'];

  /** The path with letters in upper case, one for each bit of the number. */
  function spelling(number: number): string {
    const letters = LETTERS.map((one, at) => ((number >> at) & 1 ? one.toUpperCase() : one));
    return `${letters.join('')}.yaml`;
  }

  test('spellings of one path are one problem each, and none once one is left', () => {
    const paths = Array.from({ length: 2 ** LETTERS.length }, (_, at) => spelling(at));
    const history = new History();
    history.commit('c1', Object.fromEntries(paths.map((path) => [path, ''])));
    const problems = history.catalog.problemsOf(paths);
    expect(problems.map(({ path }) => path)).toEqual(paths.toSorted());
    expect(history.catalog.problemsOf(paths.slice(-1))).toEqual(problems);
    expect(history.catalog.problems()).toEqual(problems);
    expect(paths).toContain(history.catalog.placeOf(`${LETTERS.join('')}.YAML`));

    const [kept = '', ...others] = paths.slice(1000).concat(paths.slice(0, 1000));
    const { undo } = history.commit('c2', Object.fromEntries(others.map((path) => [path, null])));
    expect(history.catalog.problems()).toEqual([]);
    expect(history.catalog.placeOf(paths[0] ?? '')).toBe(kept);
    undo();
    expect(history.catalog.problems()).toEqual(problems);
  });
});
