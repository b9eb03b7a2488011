/** The commands on files of a work tree, as people run them. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { edit, recipients, rotate, seal, unseal } from '../../src/cli/seal.ts';
import { validate } from '../../src/cli/validate.ts';
import { VALIDATE_OPTIONS } from '../../src/options/manifest-options.ts';
import type { OptionSpec } from '../../src/options/option-spec.ts';
import { parseOptions } from '../../src/options/parse-options.ts';
import {
  EDIT_OPTIONS,
  REKEY_OPTIONS,
  SEAL_OPTIONS,
  UNSEAL_OPTIONS,
} from '../../src/options/sealing-options.ts';
import { makeIdentity } from '../../src/sealing/data-keys.ts';
import { metadataOf } from '../../src/sealing/open.ts';
import { documentsOf } from '../../src/sealing/seal.ts';
import { GPG_MISSING, PgpHome } from '../sealing/pgp-home.ts';

const CLEAR = 'aHVudGVyMg==';
const SECRET = `apiVersion: management.gitplane.dev/v1
kind: SharedSecret
metadata:
  name: cdn
spec:
  displayName: CDN
  data:
    # the robot's
    password: ${CLEAR}
    user: cm9ib3Q=
`;
const TEAM = 'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: ops\n';

let ours: { identity: string; recipient: string };
let theirs: typeof ours;
let folder: string;

beforeAll(async () => {
  [ours, theirs] = await Promise.all([makeIdentity(), makeIdentity()]);
});
const home = process.cwd();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gitplane-seal-'));
  write('ours.key', `${ours.identity}\n`);
  write('theirs.key', `${theirs.identity}\n`);
  write('.gitplaneignore', '*.key\n');
  write('a/cdn.yaml', SECRET);
  write('teams/ops.yaml', TEAM);
  process.chdir(folder);
});
afterEach(() => {
  process.chdir(home);
  rmSync(folder, { recursive: true, force: true });
});

const at = (path: string): string => join(folder, path);
const read = (path: string): string => readFileSync(at(path), 'utf8');
function write(path: string, text: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
}

type Command = typeof seal;
const OPTIONS = new Map<Command, readonly OptionSpec[]>([
  [seal, SEAL_OPTIONS],
  [unseal, UNSEAL_OPTIONS],
  [edit, EDIT_OPTIONS],
  [rotate, REKEY_OPTIONS],
  [recipients, REKEY_OPTIONS],
  [validate, VALIDATE_OPTIONS],
]);

async function run(command: Command, ...args: string[]): Promise<{ code: number; text: string }> {
  let text = '';
  const options = parseOptions(
    OPTIONS.get(command) ?? [],
    ['--age-key-file', at('ours.key'), ...args],
    {},
  );
  const write = (more: string): void => {
    text += more;
  };
  const code = await command(options, { write });
  return { code, text };
}

const sealAll = (): Promise<unknown> => run(seal, '--init', '--recipient', ours.recipient, folder);
const withKey = (file: string): string[] => ['--age-key-file', at(file)];
const git = (...args: string[]): string =>
  execFileSync('git', args, {
    cwd: folder,
    encoding: 'utf8',
  });

describe('seal', () => {
  test('seals the files that hold secrets, and no other', async () => {
    await sealAll();

    expect(read('a/cdn.yaml')).not.toMatch(/aHVudGVyMg|robot/);
    expect(read('a/cdn.yaml')).toContain('  displayName: CDN\n');
    expect(read('teams/ops.yaml')).toBe(TEAM);
  });

  test('changes nothing the second time', async () => {
    await sealAll();
    const before = read('a/cdn.yaml');

    expect((await run(seal, folder)).text).toBe('Nothing is in the clear\n');
    expect(read('a/cdn.yaml')).toBe(before);
  });

  test('seals a value that a user added to a sealed file', async () => {
    await sealAll();
    const user = /\n {4}user: .*/.exec(read('a/cdn.yaml'))?.[0] ?? '?';
    write('a/cdn.yaml', read('a/cdn.yaml').replace(user, `\n    more: bW9yZQ==${user}`));
    await run(seal, folder);

    expect(read('a/cdn.yaml')).not.toContain('bW9yZQ==');
    expect(read('a/cdn.yaml')).toContain(user);
    expect((await run(unseal, at('a/cdn.yaml'))).text).toContain('    more: bW9yZQ==\n');
  });

  test('reports a plaintext comment beside sealed values, and seals it', async () => {
    await sealAll();
    const sealed = read('a/cdn.yaml');
    const place = sealed.split('\n').findIndex((line) => line.startsWith('    password: '));
    const written = sealed
      .replace('    password: ', '    # was hunter1\n    password: ')
      .replace('  displayName: CDN', '  displayName: CDN # the network\n  # of all');
    write('a/cdn.yaml', written);
    const { code, text } = await run(seal, '--check', folder);

    expect(code).toBe(1);
    expect(text).toBe(
      `a/cdn.yaml:${place + 2}:5: a comment beside sealed values is plaintext; seal it with "gitplane seal a/cdn.yaml"\n`,
    );
    await run(seal, folder);
    expect(read('a/cdn.yaml')).not.toContain('hunter1');
    expect(read('a/cdn.yaml')).toContain('  displayName: CDN # the network\n  # of all\n');
    expect((await run(unseal, at('a/cdn.yaml'))).text).toContain('    # was hunter1\n');
    expect((await run(seal, '--check', folder)).code).toBe(0);
  });

  test('reports with --check the place of each plaintext value, and not the value', async () => {
    write('.sops.yaml', 'creation_rules:\n  - age: x\n');
    const { code, text } = await run(seal, '--check', folder);

    expect(code).toBe(1);
    expect(text).toMatch(
      /^a\/cdn\.yaml:9:15: spec\.data\.password: must not be in git as plaintext/,
    );
    expect(text).not.toContain(CLEAR);
    expect(read('a/cdn.yaml')).toBe(SECRET);
  });

  test('names the missing parts where there is no .sops.yaml', async () => {
    await expect(run(seal, folder)).rejects.toThrow(/There is no \.sops\.yaml in .*--init/);
  });

  test('refuses a recipient that is none', async () => {
    await expect(run(seal, '--init', '--recipient', 'ann', folder)).rejects.toThrow(
      /"ann" is not an age recipient/,
    );
  });
});

describe('unseal', () => {
  test('prints the file as it was', async () => {
    await sealAll();

    expect((await run(unseal, at('a/cdn.yaml'))).text).toBe(SECRET);
  });

  test('gives the reason for a refusal', async () => {
    await run(seal, '--init', '--recipient', theirs.recipient, folder);

    await expect(run(unseal, at('a/cdn.yaml'))).rejects.toThrow(
      /cdn\.yaml: the file is sealed for age1\w+, and the key of none of them is here/,
    );
  });
});

describe('edit', () => {
  const change = (script: string): Promise<{ text: string }> =>
    run(edit, '--editor', `sed -i '${script}'`, at('a/cdn.yaml'));

  test.each([
    ['one value', 's/cm9ib3Q=/YW5u/', ['user', 'lastmodified', 'mac']],
    ['what is no secret', 's/CDN/Content/', ['displayName']],
    ['nothing', '', []],
  ])('an edit of %s changes its lines only', async (_, script, keys) => {
    await sealAll();
    const lines = read('a/cdn.yaml').split('\n');
    await change(script);
    const changed = read('a/cdn.yaml')
      .split('\n')
      .filter((line) => !lines.includes(line));
    const names = changed.map((line) => line.trim().split(':')[0]);

    expect(names.filter((name) => name !== 'lastmodified')).toEqual(
      keys.filter((name) => name !== 'lastmodified'),
    );
  });

  test('an editor that fails changes nothing', async () => {
    await sealAll();
    const before = read('a/cdn.yaml');

    await expect(run(edit, '--editor', 'false', at('a/cdn.yaml'))).rejects.toThrow(
      /nothing was changed/,
    );
    expect(read('a/cdn.yaml')).toBe(before);
  });

  test('a killed edit leaves a plaintext file until the next edit', async () => {
    await sealAll();
    const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
    const main = join(import.meta.dirname, '../../src/main.ts');
    const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
    const child = spawnSync(process.execPath, [
      ...['--import', tsx, main, 'edit', '--age-key-file', at('ours.key')],
      ...['--editor', 'kill -9 $PPID; :', at('a/cdn.yaml')],
    ]);
    expect(child.signal).toBe('SIGKILL');
    const left = (): string[] =>
      readdirSync(memory).filter((name) => name.includes(`-${child.pid}-`));
    expect(left()).toHaveLength(1);

    await run(edit, '--editor', 'true', at('a/cdn.yaml'));

    expect(left()).toEqual([]);
  });

  test('an edit that breaks the file changes nothing', async () => {
    await sealAll();
    const before = read('a/cdn.yaml');

    await expect(change('s/spec:/spec: [/')).rejects.toThrow(/cdn\.yaml: \d+:\d+: /);
    expect(read('a/cdn.yaml')).toBe(before);
  });
});

describe('keys', () => {
  test('a recipient that was added can read, and one that was removed cannot', async () => {
    await sealAll();
    const value = /password: .*/.exec(read('a/cdn.yaml'))?.[0];
    await run(recipients, 'add', theirs.recipient);
    expect(/password: .*/.exec(read('a/cdn.yaml'))?.[0]).toBe(value);
    expect((await run(unseal, ...withKey('theirs.key'), at('a/cdn.yaml'))).text).toBe(SECRET);
    expect((await run(recipients, 'list')).text).toBe(`${ours.recipient}\n${theirs.recipient}\n`);

    await run(recipients, 'remove', theirs.recipient);
    expect(/password: .*/.exec(read('a/cdn.yaml'))?.[0]).not.toBe(value);
    const theirKey = parseOptions(UNSEAL_OPTIONS, [...withKey('theirs.key'), at('a/cdn.yaml')], {});
    await expect(unseal(theirKey, { write: () => undefined })).rejects.toThrow(/is sealed for/);
  });

  test.skipIf(GPG_MISSING !== undefined)(
    'PGP keys that .sops.yaml names read the files, and are listed',
    async () => {
      const gpg = new PgpHome();
      onTestFinished(() => gpg.close());
      const ann = gpg.newKey('ann');
      await sealAll();
      write('.sops.yaml', read('.sops.yaml').replace(/^( +)age: .*$/gm, `$&\n$1pgp: ${ann}`));

      await expect(run(rotate, folder)).rejects.toThrow(
        new RegExp(`cdn.yaml: the PGP key ${ann} is named, .*--pgp-keys`),
      );
      expect((await run(recipients, 'list')).text).toContain(`pgp ${ann} (public key missing)\n`);
      writeFileSync(at('.sops.pub.asc'), readFileSync(gpg.exported(ann)));
      await run(rotate, folder);
      const { text } = await run(recipients, 'list');
      expect(text).toBe(
        `${ours.recipient}\npgp ${ann}\n${join('a', 'cdn.yaml')}: also readable by PGP keys: ${ann}\n`,
      );
      const [{ enc = '' } = {}] = metadataOf(documentsOf(read('a/cdn.yaml')))?.pgp ?? [];
      expect(gpg.decrypt(enc)).toHaveLength(32);

      // Others come and go: what is for PGP keys stays where the data key does.
      await run(recipients, 'add', theirs.recipient);
      expect(metadataOf(documentsOf(read('a/cdn.yaml')))?.pgp?.[0]?.enc).toBe(enc);
      await run(recipients, 'remove', theirs.recipient);
      const [after] = metadataOf(documentsOf(read('a/cdn.yaml')))?.pgp ?? [];
      expect(gpg.decrypt(after?.enc ?? '')).not.toEqual(gpg.decrypt(enc));
      expect((await run(unseal, at('a/cdn.yaml'))).text).toBe(SECRET);
    },
  );

  test('the last recipient stays', async () => {
    await sealAll();

    await expect(run(recipients, 'remove', ours.recipient)).rejects.toThrow(/Nobody could read/);
  });

  test('rotate seals everything again, as one commit', async () => {
    git('init', '--quiet');
    git('config', 'user.name', 'A');
    git('config', 'user.email', 'a@example.com');
    await sealAll();
    git('add', '.sops.yaml', 'a', 'teams');
    git('commit', '--quiet', '-m', 'sealed');
    const before = read('a/cdn.yaml');
    write('teams/ops.yaml', `${TEAM}spec: {}\n`);
    await run(rotate, '--commit', folder);

    expect(read('a/cdn.yaml').match(/ENC\[.*\]/g)).not.toEqual(before.match(/ENC\[.*\]/g));
    expect(git('show', '--format=%s', '--name-only').trim().split('\n')).toEqual([
      'Rotate the keys of sealed files',
      '',
      'a/cdn.yaml',
    ]);
    expect((await run(unseal, at('a/cdn.yaml'))).text).toBe(SECRET);
  });
});

describe('validate', () => {
  test('reports mistakes in .sops.yaml with their place', async () => {
    writeFileSync(join(folder, '.sops.yaml'), 'creation_rules:\n  - age: age1nobody\n');
    const { code, text } = await run(validate, folder);

    expect(code).toBe(1);
    expect(text).toMatch(/\.sops\.yaml:2:10: creation_rules\[0\]\.age: "age1nobody" is not an age/);
  });

  test('takes sealed files, and without a key says what it could not look into', async () => {
    await sealAll();

    expect(await run(validate, folder)).toMatchObject({ code: 0 });
    const blind = parseOptions(VALIDATE_OPTIONS, [...withKey('theirs.key'), folder], {});
    const said: string[] = [];
    expect(await validate(blind, { write: (more) => said.push(more) })).toBe(0);
    expect(said.join('')).toMatch(/warning: sops: is sealed for age1/);
  });

  test('refuses a secret in plaintext where there is a .sops.yaml', async () => {
    expect(await run(validate, folder)).toMatchObject({ code: 0 });
    await sealAll();
    write('a/cdn.yaml', SECRET);

    expect((await run(validate, folder)).text).toMatch(/spec\.data\.password: must not be in git/);
  });
});
