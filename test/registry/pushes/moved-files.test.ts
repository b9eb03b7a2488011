/** Moves of files between rules of `.sops.yaml`, by a user who may push and has no right on objects. */
import { setImmediate } from 'node:timers/promises';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { ObjectChange } from '../../../src/catalog/index.ts';
import { movedForOthers } from '../../../src/registry/pushes/moved-files.ts';
import { Sealer } from '../../../src/registry/writes/sealer.ts';
import { Keyring, makeIdentity } from '../../../src/sealing/data-keys.ts';
import { sealText } from '../../../src/sealing/seal.ts';
import { ruleOfKeys } from '../../../src/sealing/sops-config.ts';
import { foreignCommit, git } from '../../support/git.ts';
import {
  kindOf,
  kinds,
  openTestPlatform,
  type TestPlatform,
  team,
  writeOptions,
} from '../../support/platform.ts';

let keyring: Keyring;
let ours: string;
let other: string;
let platform: TestPlatform;

beforeAll(async () => {
  const made = await makeIdentity();
  ours = made.recipient;
  other = (await makeIdentity()).recipient;
  keyring = await Keyring.open([made.identity], { marks: true });
});
beforeEach(async () => {
  const authorizer = { authorize: () => ({ allowed: false, reason: '' }) };
  platform = await openTestPlatform({ keyring, authorizer });
});

interface Rule {
  readonly folder: string;
  readonly fields: string;
  readonly age?: string;
  readonly more?: string;
}

function config(...rules: readonly Rule[]): string {
  const lines = rules.map(
    ({ folder, fields, age = ours, more = '' }) =>
      `  - { path_regex: ^${folder}/, encrypted_regex: ^(${fields})$, age: "${age}"${more} }\n`,
  );
  return `creation_rules:\n${lines.join('')}`;
}

const TEAM = team('a');

const inGit = (path: string): string =>
  `${git(platform.repository.gitDir, ['show', `main:${path}`])}\n`;

function secret(name: string, value: string): string {
  return `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata:\n  name: ${name}\n  namespace: web\nspec:\n  data:\n    key: ${value}\n`;
}

async function encrypted(text: string): Promise<string> {
  const key = await keyring.make([ours]);
  return sealText(text, { key, rule: ruleOfKeys(['data']), now: 0 });
}

async function moved(from: string, to: string, text = TEAM): Promise<string> {
  const files = { [`${from}/a.yaml`]: null, [`${to}/a.yaml`]: text };
  const commit = foreignCommit(platform.repository.gitDir, { files });
  const { ok, lines } = await platform.push(commit, { name: 'pusher', groups: [] });
  return ok ? '' : lines.join('\n');
}

test('a move to a rule that encrypts less takes the right to read and update the object', async () => {
  const rules = config(
    { folder: 'teams', fields: 'data|displayName' },
    { folder: 'more', fields: 'data|displayName|description' },
    { folder: 'open', fields: 'data' },
  );
  await platform.commit({ '.sops.yaml': rules, 'teams/a.yaml': TEAM });

  expect(await moved('teams', 'open')).toContain(
    'open/a.yaml: Team "a": Forbidden: User "pusher" cannot get teams, and .sops.yaml has other recipients for this place, or encrypts less there, than for the former one',
  );
  expect(await moved('teams', 'more')).toBe('');
  await platform.registry.update({
    verb: 'patch',
    kind: kindOf('teams'),
    namespace: '',
    name: 'a',
    duplicates: [],
    options: writeOptions,
    change: (current) => ({ ...structuredClone(current), spec: { displayName: 'canary' } }),
  });
  expect(inGit('more/a.yaml')).not.toContain('canary');
});

test('a move of an object of which no rule encrypts anything takes no right', async () => {
  const rules = config(
    { folder: 'teams', fields: 'data' },
    { folder: 'blue', fields: 'data', age: `${ours},${other}` },
  );
  await platform.commit({ '.sops.yaml': rules, 'teams/a.yaml': TEAM });

  expect(await moved('teams', 'blue')).toBe('');
  expect(await moved('blue', 'elsewhere')).toBe('');
  expect(await moved('elsewhere', 'blue')).toBe('');
});

test('a move to a place without a rule encrypts for this platform alone, and one to a rule that cannot be used takes rights', async () => {
  const rules = config(
    { folder: 'secrets', fields: 'data', age: `${ours},${other}` },
    { folder: 'clouds', fields: 'data', more: ', kms: arn' },
  );
  const made = (value: string) => secret('a', value);
  await platform.commit({ '.sops.yaml': rules, 'secrets/a.yaml': await encrypted(made('b25l')) });

  const text = inGit('secrets/a.yaml');
  expect(await moved('secrets', 'elsewhere', text)).toBe('');
  await platform.registry.update({
    verb: 'patch',
    kind: kindOf('sharedsecrets'),
    namespace: 'web',
    name: 'a',
    duplicates: [],
    options: writeOptions,
    change: (current) => ({ ...structuredClone(current), spec: { data: { key: 'dHdv' } } }),
  });
  const written = inGit('elsewhere/a.yaml');
  expect(written).toContain(ours);
  expect(written).not.toContain(other);
  expect(await moved('elsewhere', 'clouds', written)).toContain(
    'clouds/a.yaml: SharedSecret "web/a": Forbidden: User "pusher" cannot update sharedsecrets',
  );
  expect(await moved('elsewhere', 'secrets', written)).toContain('other recipients');
});

test('moves of many files are judged in short steps', async () => {
  const unusable = { folder: 'new', fields: 'data', more: ', kms: arn' };
  const rules = config(
    ...Array.from({ length: 50 }, (_, i) => ({ folder: `t${i}`, fields: 'data' })),
    { folder: 'old', fields: 'data' },
    unusable,
  );
  const repository = { readBlobs: async () => [Buffer.from(rules)] };
  const sealing = { configs: { '.sops.yaml': 'blob' } };
  const sealer = new Sealer({ keyring, kinds, clock: Date });
  const { group, kind } = kindOf('sharedsecrets');
  const identity = { introducedBy: 'a', rootCommit: 'a' };
  const changes = Array.from({ length: 30_000 }, (_, i) => {
    const key = { group, kind, namespace: 'n', name: `s${i}` };
    const at = (folder: string) => ({
      identity,
      place: { path: `${folder}/s${i}.yaml` },
      source: {},
    });
    return { key, before: at('old'), after: at('new') } as unknown as ObjectChange;
  });

  let turns = 0;
  let isDone = false;
  const judged = movedForOthers({ sealer, sealing, repository, kinds } as never, changes).finally(
    () => {
      isDone = true;
    },
  );
  while (!isDone) {
    await setImmediate();
    turns += 1;
  }
  expect((await judged).length).toBe(changes.length);
  expect(turns).toBeGreaterThan(5);
});
