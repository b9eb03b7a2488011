/**
 * Pushes that try to choose who reads what the daemon encrypts, with real git. The oracle is the
 * key of the attacker: it must not open any file that the daemon wrote.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type FileKey, Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { metadataOf, openStream } from '../../src/sealing/open.ts';
import { documentsOf, sealText } from '../../src/sealing/seal.ts';
import { ruleOfKeys } from '../../src/sealing/sops-config.ts';
import { API, type Daemon, RBAC, type RunResult, startDaemon } from '../support/daemon.ts';
import { commitFiles, gitIn, hookSaid, manifest } from './clones.ts';

const SECRETS = `${API}/namespaces/payments/sharedsecrets`;
const GROUP = 'management.gitplane.dev';
const GIT = { nonResourceURLs: ['/git/platform.git'], verbs: ['get', 'update'] };
const VALUE = 'aHVudGVyMg==';

let daemon: Daemon;
/** A clone that is up to date when a test begins. */
let clone: string;
/** The key of the daemon, as `.sops.yaml` names it. */
let platform: string;
let attacker: { identity: string; recipient: string };
const urls = new Map<string, string>();

beforeAll(async () => {
  daemon = await startDaemon();
  const file = readFileSync(join(daemon.dataDir, 'age.key'), 'utf8');
  platform = /age1\w+/.exec(file)?.[0] ?? '';
  attacker = await makeIdentity();
  const control = { apiGroups: [GROUP], resources: ['repository/controlfiles'], verbs: ['update'] };
  await principal('pusher', []);
  await principal('steward', [control]);
  await principal('writer', [secrets('update', 'patch')]);
  await principal('creator', [secrets('create')]);
});
afterAll(() => daemon.stop());
beforeEach(async () => {
  clone = await daemon.clone();
});

function secrets(...verbs: string[]): object {
  return { apiGroups: [GROUP], resources: ['sharedsecrets'], verbs };
}

/** A user who may push, and has the rights of the rules on objects. */
async function principal(name: string, rules: readonly object[]): Promise<void> {
  const created = async (path: string, body: object) => {
    const answer = await daemon.call('POST', path, { body });
    expect(answer.code, answer.text).toBe(201);
    return answer.json();
  };
  const metadata = { name };
  await created(`${API}/users`, { metadata, spec: {} });
  const { spec } = await created(`${API}/ownedaccesskeys`, { metadata, spec: { user: name } });
  await created(`${RBAC}/clusterroles`, { metadata, rules: [GIT, ...rules] });
  const apiGroup = 'rbac.authorization.k8s.io';
  await created(`${RBAC}/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup, kind: 'ClusterRole', name },
    subjects: [{ apiGroup, kind: 'User', name }],
  });
  urls.set(name, `https://${name}:${spec.key}@127.0.0.1:${daemon.port}/git/platform.git`);
}

/** Pushes one commit with the files (null removes one) as a user. */
async function pushAs(
  user: string,
  files: Readonly<Record<string, string | null>>,
): Promise<RunResult> {
  await commitFiles(daemon, clone, files);
  return await daemon.git(['push', urls.get(user) ?? '', 'main:main'], clone);
}

async function created(name: string, data: Record<string, string>): Promise<void> {
  const body = { metadata: { name }, spec: { data } };
  const answer = await daemon.call('POST', SECRETS, { body });
  expect(answer.code, answer.text).toBe(201);
}

async function patched(name: string, data: Record<string, string>): Promise<void> {
  const type = 'application/merge-patch+json';
  const answer = await daemon.call('PATCH', `${SECRETS}/${name}`, {
    body: { spec: { data } },
    type,
  });
  expect(answer.code, answer.text).toBe(200);
}

async function inGit(path: string): Promise<string> {
  await gitIn(daemon, clone, 'fetch', '-q');
  return await gitIn(daemon, clone, 'show', `origin/main:${path}`);
}

/** A data key of the attacker, wrapped for the recipients. */
async function ownKey(...recipients: string[]): Promise<FileKey> {
  return await new Keyring([attacker.identity], { marks: true }).make(recipients);
}

function encrypted(text: string, key: FileKey): string {
  return sealText(text, { key, rule: ruleOfKeys(['data']), now: Date.now() });
}

/** True if the attacker reads a file, by an age key or by a data key of his own. */
async function isReadable(text: string, dataKey?: Buffer): Promise<boolean> {
  const documents = documentsOf(text);
  const metadata = metadataOf(documents);
  if (metadata === undefined) return true;
  const found = await new Keyring([attacker.identity]).dataKey(metadata.age);
  return [dataKey, found].some((key) => {
    if (key === undefined) return false;
    const opened = openStream({ text, documents }, key);
    return (
      opened.sealed.length > 0 || opened.documents.every(({ problems }) => problems.length === 0)
    );
  });
}

const forbidden = (path: string, user = 'pusher'): string =>
  `${path}: Forbidden: User "${user}" cannot update repository/controlfiles in API group "${GROUP}"`;

const shared = (name: string, data: Record<string, string>, namespace = 'payments'): string =>
  manifest('SharedSecret', name, JSON.stringify({ data }), namespace);

describe('a pusher who wants to read encrypted values', () => {
  test('cannot add a recipient to .sops.yaml with the right to push alone', async () => {
    const config = readFileSync(join(clone, '.sops.yaml'), 'utf8');
    const mine = config.replaceAll(platform, `${platform},${attacker.recipient}`);
    const result = await pushAs('pusher', { '.sops.yaml': mine });
    await created('steered', { password: VALUE });

    expect(hookSaid(result)).toEqual([forbidden('.sops.yaml'), '1 problem; nothing was changed']);
    expect(await isReadable(await inGit('namespaces/payments/sharedsecrets/steered.yaml'))).toBe(
      false,
    );
  });

  test('cannot have a data key of their own kept, though they may update the object', async () => {
    await created('rekeyed', { password: VALUE });
    const key = await ownKey(platform);
    const path = 'namespaces/payments/sharedsecrets/rekeyed.yaml';
    await gitIn(daemon, clone, 'pull', '-q');
    const result = await pushAs('writer', {
      [path]: encrypted(shared('rekeyed', { password: 'b3du' }), key),
    });
    expect(result.code, result.stderr).toBe(0);
    expect(await isReadable(await inGit(path), key.dataKey)).toBe(true);

    await patched('rekeyed', { token: VALUE });
    expect(await isReadable(await inGit(path), key.dataKey)).toBe(false);
    const answer = (await daemon.call('GET', `${SECRETS}/rekeyed`)).json();
    expect(answer.spec.data).toEqual({ password: 'b3du', token: VALUE });
  });

  test('cannot have a future object appended to a file with a key of their own', async () => {
    const path = 'namespaces/payments/sharedsecrets/future.yaml';
    const key = await ownKey(platform, attacker.recipient);
    const result = await pushAs('creator', {
      [path]: encrypted(shared('decoy', { password: 'b3du' }), key),
    });
    expect(result.code, result.stderr).toBe(0);
    await created('future', { password: VALUE });

    const text = await inGit(path);
    expect(text).toContain('name: future');
    expect(await isReadable(text, key.dataKey)).toBe(false);
  });
});

describe('a push that touches control files', () => {
  test.each<[string, Record<string, string | null>, string[]]>([
    ['deletes .sops.yaml', { '.sops.yaml': null }, ['.sops.yaml']],
    ['makes .gitplaneignore', { '.gitplaneignore': 'future/\n' }, ['.gitplaneignore']],
    ['makes .gitattributes in a folder', { 'a/.gitattributes': '* text\n' }, ['a/.gitattributes']],
    ['makes .sops.yaml in a folder', { 'a/.sops.yaml': 'x: 1\n' }, ['a/.sops.yaml']],
    ['names it in other letters', { '.SOPS.yaml': 'x: 1\n' }, ['.SOPS.yaml']],
    [
      'names it with a sign that HFS+ ignores',
      { '.sops\u200d.yaml': 'x: 1\n' },
      ['".sops\\u200d.yaml"'],
    ],
    ['names it with the long s', { 'a/.\u017fops.yaml': 'x: 1\n' }, ['a/.\u017fops.yaml']],
    ['names it as Windows shortens it', { 'SOPS~1.YAM': 'x: 1\n' }, ['SOPS~1.YAM']],
    ['names a stream of it', { '.sops.yaml::$DATA': 'x: 1\n' }, ['.sops.yaml::$DATA']],
    [
      'names a stream of .gitattributes',
      { 'a/.gitattributes .:x': '* text\n' },
      ['a/.gitattributes .:x'],
    ],
    ['names .gitattributes as Windows shortens it', { 'a/GI7D29~1': '* text\n' }, ['a/GI7D29~1']],
    ['names .gitplaneignore as Windows shortens it', { 'gitpla~2': '*\n' }, ['gitpla~2']],
    ['puts a folder in its place', { '.sops.yaml': null, '.sops.yaml/a': 'x\n' }, ['.sops.yaml']],
    ['moves it', { '.sops.yaml': null, 'b/.sops.yaml': 'x: 1\n' }, ['.sops.yaml', 'b/.sops.yaml']],
  ])('is refused with file and right when it %s', async (_, files, paths) => {
    const result = await pushAs('pusher', files);

    expect(hookSaid(result)).toEqual(expect.arrayContaining(paths.map((path) => forbidden(path))));
    expect(result.code).toBe(1);
  });

  test('is refused when a later commit of it takes the change back', async () => {
    await commitFiles(daemon, clone, { '.gitattributes': '* text\n' });
    const result = await pushAs('pusher', { '.gitattributes': null });

    expect(hookSaid(result)).toContain(forbidden('.gitattributes'));
  });

  test('is refused when a merge brings an old version back', async () => {
    const before = await gitIn(daemon, clone, 'rev-parse', 'HEAD');
    const accepted = await pushAs('steward', { '.gitattributes': '*.png binary\n' });
    expect(accepted.code, accepted.stderr).toBe(0);
    await gitIn(daemon, clone, 'checkout', '-q', '-b', 'side', before);
    await commitFiles(daemon, clone, { 'notes.txt': 'x\n' });
    await gitIn(daemon, clone, 'checkout', '-q', 'main');
    await gitIn(daemon, clone, 'merge', '-q', '--no-ff', '--no-commit', 'side');
    await gitIn(daemon, clone, 'rm', '-q', '--cached', '.gitattributes');
    await gitIn(daemon, clone, 'commit', '-qm', 'Merge');
    const refused = await daemon.git(['push', urls.get('pusher') ?? '', 'main:main'], clone);
    expect(hookSaid(refused)).toContain(forbidden('.gitattributes'));
  });

  test('is accepted when its merge takes the change of a user with the right', async () => {
    const before = await gitIn(daemon, clone, 'rev-parse', 'HEAD');
    const accepted = await pushAs('steward', { '.gitattributes': '*.jpg binary\n' });
    expect(accepted.code, accepted.stderr).toBe(0);
    await gitIn(daemon, clone, 'checkout', '-q', '-b', 'side', before);
    await commitFiles(daemon, clone, { 'more.txt': 'x\n' });
    await gitIn(daemon, clone, 'merge', '-q', '--no-edit', 'main');
    const result = await daemon.git(['push', urls.get('pusher') ?? '', 'side:main'], clone);
    expect(result.code, result.stderr).toBe(0);
  });

  test.each<[string, (config: string) => string, string]>([
    ['does not parse', () => 'creation_rules: [\n', '.sops.yaml:2:1: '],
    [
      'has no rule',
      () => 'creation_rules: []\n',
      '.sops.yaml:1:17: creation_rules: must hold at least one rule',
    ],
    [
      'has a pattern that takes long',
      (config) => config.replace(/path_regex: .*/, 'path_regex: ^(a+)+$'),
      '.sops.yaml:4:5: creation_rules[0]: the pattern "^(a+)+$" repeats a group',
    ],
    [
      'names what is not a recipient',
      (config) => config.replace(platform, 'age1nobody'),
      '.sops.yaml:7:10: creation_rules[0].age: "age1nobody" is not an age recipient',
    ],
    [
      'names others alone',
      (config) => config.replaceAll(platform, attacker.recipient),
      '.sops.yaml:4:3: creation_rules: no rule names this platform',
    ],
  ])(
    'is refused with the place when .sops.yaml %s, also with the right',
    async (what, change, said) => {
      const config = readFileSync(join(clone, '.sops.yaml'), 'utf8');
      const result = await pushAs('steward', { '.sops.yaml': change(config) });

      expect([result.code, hookSaid(result)[0]]).toEqual([1, expect.stringContaining(said)]);
      await created(`after-${what.replaceAll(' ', '-')}`, { password: VALUE });
    },
  );

  test('is refused a .gitplaneignore whose patterns take long to compare', async () => {
    const pattern = `${'**/'.repeat(200)}a*b*c\n`;
    const result = await pushAs('steward', { '.gitplaneignore': pattern.repeat(2_000) });
    expect(result.code).toBe(1);
    expect(hookSaid(result)[0]).toMatch(
      /^\.gitplaneignore:1:1: The file has \d+ bytes; the limit is 65536/,
    );
  });

  test('gets a warning for new objects that .gitplaneignore excludes', async () => {
    const result = await pushAs('steward', { '.gitplaneignore': '# Not ours\nteams/example*\n' });
    expect(hookSaid(result)).toContain(
      'warning: .gitplaneignore:2:1: covers teams/example.yaml, where new teams go: the API cannot create them',
    );
    await gitIn(daemon, clone, 'pull', '-q');
    expect((await pushAs('steward', { '.gitplaneignore': null })).code).toBe(0);
  });
});

describe('a rule of .sops.yaml that encrypts the names of objects', () => {
  const own = { kind: 'Team', metadata: { name: 'named' }, spec: { displayName: 'Shown' } };

  test.each<[string, string, string, number]>([
    ['for every file', '', 'encrypts the names of ', 409],
    ['for new teams', 'path_regex: ^teams/', 'encrypts the names of teams: ', 409],
    ['for files beside the manifests', 'path_regex: ^charts/', '', 201],
  ])('is told of at the push and refused at the API alike: %s', async (_, path, said, code) => {
    await gitIn(daemon, clone, 'pull', '-q');
    const config = readFileSync(join(clone, '.sops.yaml'), 'utf8');
    const lines = [`age: ${platform}`, 'unencrypted_suffix: _clear', path].filter(Boolean);
    const rule = `creation_rules:\n  - ${lines.join('\n    ')}\n`;

    const result = await pushAs('steward', {
      '.sops.yaml': config.replace('creation_rules:\n', rule),
    });

    const told = hookSaid(result).filter((line) => line.includes('encrypts the names'));
    expect([result.code, told.length]).toEqual([0, said === '' ? 0 : 1]);
    if (said !== '') {
      expect(told[0]).toContain('warning: .sops.yaml:');
      expect(told[0]).toContain(`unencrypted_suffix: "_clear" ${said}`);
      expect(told[0]).toContain('unencrypted_regex: ^(apiVersion|kind|metadata)$');
    }
    const body = { ...own, apiVersion: 'management.gitplane.dev/v1' };
    const answer = await daemon.call('POST', `${API}/teams`, { body });
    expect(answer.code, answer.text).toBe(code);
    if (code === 409) expect(answer.text).toContain('together with the name of the object');
    await gitIn(daemon, clone, 'pull', '-q');
    expect((await pushAs('steward', { '.sops.yaml': config })).code).toBe(0);
  });
});

describe('the encryption of the object of another user', () => {
  const path = 'namespaces/payments/sharedsecrets/theirs.yaml';

  test.each<[string, (text: string) => string]>([
    ['recipients', (text) => text.replace(/(recipient: )age1\w+/, `$1${attacker.recipient}`)],
    ['rule', (text) => text.replace('encrypted_regex: ^(data|', 'encrypted_regex: ^(data|x|')],
    ['provenance', (text) => text.replace(/ {2}gitplane_mark: .*\n/, '')],
  ])('keeps its %s against a pusher without a right on it', async (what, change) => {
    if (what === 'recipients') await created('theirs', { password: VALUE });
    await gitIn(daemon, clone, 'pull', '-q');
    const text = readFileSync(join(clone, path), 'utf8');
    expect(change(text)).not.toBe(text);
    const moved = { [path]: null, [path.replace('theirs', 'moved')]: change(text) };
    for (const files of [{ [path]: change(text) }, moved]) {
      const result = await pushAs('pusher', files);
      expect(hookSaid(result).join('\n')).toMatch(
        /SharedSecret "payments\/theirs": Forbidden: User "pusher" cannot update sharedsecrets/,
      );
      await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
    }
  });

  test('may be moved as it is', async () => {
    await gitIn(daemon, clone, 'pull', '-q');
    const text = readFileSync(join(clone, path), 'utf8');
    const result = await pushAs('pusher', {
      [path]: null,
      'elsewhere/theirs.yaml': text,
    });
    expect(result.code, result.stderr).toBe(0);
  });

  test('cannot be copied into an object that the pusher may read', async () => {
    await created('original', { password: VALUE });
    await gitIn(daemon, clone, 'pull', '-q');
    const text = readFileSync(join(clone, path.replace('theirs', 'original')), 'utf8');
    const copy = text
      .replace('name: original', 'name: copy')
      .replace('namespace: payments', 'namespace: mine');
    const copies = [copy, copy.replace(/ {2}gitplane_mark: .*\n/, '')];
    for (const file of copies) {
      const result = await pushAs('creator', { 'copy.yaml': file });
      expect(hookSaid(result)).toContain(
        'copy.yaml: SharedSecret "mine/copy": Forbidden: its values were encrypted for another object or an earlier state, and User "creator" cannot get every one of the sharedsecrets, projectsecrets; encrypt them anew with "gitplane rotate copy.yaml"',
      );
      await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
    }
    expect((await daemon.call('GET', `${API}/namespaces/mine/sharedsecrets/copy`)).code).toBe(404);
    expect((await daemon.git(['push'], clone)).code).toBe(0);
  });

  test('cannot be copied in a commit that a later one of the push takes back', async () => {
    await created('source', { password: VALUE });
    await created('own', { password: 'b3du' });
    await gitIn(daemon, clone, 'pull', '-q');
    const own = path.replace('theirs', 'own');
    const text = readFileSync(join(clone, own), 'utf8');
    const source = readFileSync(join(clone, path.replace('theirs', 'source')), 'utf8');
    await commitFiles(daemon, clone, { [own]: source.replace('name: source', 'name: own') });
    const between = (await gitIn(daemon, clone, 'rev-parse', 'HEAD')).trim();
    const result = await pushAs('writer', { [own]: text });

    const past = await daemon.call('GET', `${SECRETS}/own?atRevision=${between}`);
    expect(past.text).not.toContain(VALUE);
    expect(hookSaid(result).join('\n')).toContain(
      `${own}: SharedSecret "payments/own": Forbidden: its values were encrypted for another object`,
    );
    await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
  });
});

describe('a move to a place with other recipients', () => {
  test('takes the right to read and update the object, or to change control files', async () => {
    await created('moving', { password: VALUE });
    await gitIn(daemon, clone, 'pull', '-q');
    const config = readFileSync(join(clone, '.sops.yaml'), 'utf8');
    const rule = `  - path_regex: ^for-others/\n    encrypted_regex: ^data$\n    age: ${platform},${attacker.recipient}\n`;
    const ruled = config.replace('creation_rules:\n', `creation_rules:\n${rule}`);
    expect((await pushAs('steward', { '.sops.yaml': ruled })).code).toBe(0);
    const path = 'namespaces/payments/sharedsecrets/moving.yaml';
    const text = readFileSync(join(clone, path), 'utf8');
    const move = { [path]: null, 'for-others/moving.yaml': text };

    for (const [user, verb] of [
      ['pusher', 'get'],
      ['writer', 'get'],
    ] as const) {
      const refused = await pushAs(user, move);
      expect(hookSaid(refused)).toContain(
        `for-others/moving.yaml: SharedSecret "payments/moving": Forbidden: User "${user}" cannot ${verb} sharedsecrets, and .sops.yaml has other recipients for this place, or encrypts less there, than for the former one`,
      );
      await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
    }
    await patched('moving', { password: 'bmV3' });
    expect(await isReadable(await inGit(path))).toBe(false);

    await gitIn(daemon, clone, 'pull', '-q');
    const newest = readFileSync(join(clone, path), 'utf8');
    const moved = await pushAs('steward', { ...move, 'for-others/moving.yaml': newest });
    expect(moved.code, moved.stderr).toBe(0);
    const back = await pushAs('pusher', { 'for-others/moving.yaml': null, [path]: newest });
    expect(back.code, back.stderr).toBe(0);
  });
});
