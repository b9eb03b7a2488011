/** A law: whatever is added, changed, moved and removed, our commits are those git itself makes. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NewCommit } from '../../../src/git/repository.ts';
import { ada, bareRepository, expectSound, git, openForTest } from '../../support/git.ts';
import { runs } from '../../support/properties.ts';

const segment = fc.constantFrom('a', 'b', 'a.b', 'a-b', 'ab', 'teams', 'ä', 'z z');
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
const step = fc.record({
  do: fc.constantFrom('write', 'write', 'write', 'remove', 'move'),
  path,
  pick: fc.nat(1000),
  content: fc.constantFrom('', 'one\n', 'two\n', 'three'),
});
const steps = fc.array(fc.array(step, { maxLength: 5 }), { minLength: 1, maxLength: 12 });

type Files = Map<string, string>;

/** True if a file may be at `path`: no file above it, none below. */
function fits(files: Files, wanted: string): boolean {
  return ![...files.keys()].some(
    (other) => other.startsWith(`${wanted}/`) || wanted.startsWith(`${other}/`),
  );
}

/** Changes of one commit; impossible steps are left out. */
function changesOf(
  before: Files,
  group: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[],
) {
  const after: Files = new Map(before);
  for (const { do: verb, path: target, pick, content } of group) {
    const present = [...after.keys()];
    const picked = present[pick % Math.max(present.length, 1)];
    if (verb === 'write' && fits(after, target)) after.set(target, content);
    if (verb === 'remove' && picked !== undefined) after.delete(picked);
    if (verb === 'move' && picked !== undefined) {
      const moved = after.get(picked) ?? '';
      after.delete(picked);
      after.set(fits(after, target) ? target : picked, moved);
    }
  }
  const changes: { path: string; content: Buffer | null }[] = [];
  for (const [name, text] of after) {
    if (before.get(name) !== text) changes.push({ path: name, content: Buffer.from(text) });
  }
  for (const name of before.keys())
    if (!after.has(name)) changes.push({ path: name, content: null });
  return { after, changes };
}

function fastImport(commits: readonly NewCommit[], states: readonly Files[]): string {
  const who = `${ada.name} <${ada.email}>`;
  return commits
    .map(({ time, message }, i) => {
      const files = [...(states[i] ?? [])].map(
        ([name, text]) => `M 100644 inline "${name}"\ndata ${Buffer.byteLength(text)}\n${text}\n`,
      );
      return [
        'commit refs/heads/main\n',
        `author ${who} ${time} +0000\ncommitter ${who} ${time} +0000\n`,
        `data ${Buffer.byteLength(message)}\n${message}\ndeleteall\n`,
        ...files,
      ].join('');
    })
    .join('\n');
}

test('random histories have the ids that git fast-import gives them', async () => {
  const law = fc.asyncProperty(steps, fc.nat(11), async (groups, batchSize) => {
    const repository = await openForTest();
    let files: Files = new Map();
    let batch = repository.begin(undefined);
    const commits: NewCommit[] = [];
    const states: Files[] = [];
    const ids: string[] = [];
    for (const [i, group] of groups.entries()) {
      const { after, changes } = changesOf(files, group);
      files = after;
      states.push(after);
      const commit = {
        changes,
        author: ada,
        committer: ada,
        time: 1_700_000_000 + i,
        message: `commit ${i}\n`,
      };
      commits.push(commit);
      ids.push((await batch.add(commit)).id);
      if (i % (batchSize + 1) === batchSize) {
        await batch.publish();
        batch = repository.begin(ids.at(-1));
      }
    }
    await batch.publish();

    const other = await bareRepository();
    git(other, ['fast-import', '--quiet'], { input: fastImport(commits, states) });
    expect(ids).toEqual(git(other, ['rev-list', '--reverse', 'main']).split('\n'));
    expectSound(repository.gitDir);
  });
  await fc.assert(law, { numRuns: runs(30) });
});
