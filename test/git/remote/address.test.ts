import { describe, expect, test } from 'vitest';
import { parseRemoteAddress } from '../../../src/git/remote/address.ts';
import { readPushReport } from '../../../src/git/remote/remote.ts';
import { problemOf, sanitize } from '../../../src/git/remote/remote-error.ts';

describe('an address', () => {
  test.each([
    [
      'https://forge.example/a/b.git',
      'https',
      'https://forge.example/a/b.git',
      undefined,
      undefined,
    ],
    ['https://ann:s%2Fx@forge.example/a', 'https', 'https://forge.example/a', 'ann', 's/x'],
    ['http://:tok@forge.example:81/a', 'http', 'http://forge.example:81/a', undefined, 'tok'],
    ['ssh://git:pw@forge.example:22/a', 'ssh', 'ssh://git@forge.example:22/a', 'git', 'pw'],
    ['git@forge.example:a/b.git', 'ssh', 'git@forge.example:a/b.git', undefined, undefined],
    ['file:///srv/a%20b.git', 'file', '/srv/a b.git', undefined, undefined],
    ['/srv/a:b.git', 'file', '/srv/a:b.git', undefined, undefined],
  ])('%s', (text, protocol, url, username, password) => {
    expect(parseRemoteAddress(text)).toEqual({ protocol, url, username, password });
  });

  test.each([
    '',
    'ext::sh -c "touch /tmp/x"',
    'fd::17',
    '--upload-pack=touch /tmp/x',
    'git://forge.example/a',
    'ftp://forge.example/a',
    'ssh://-oProxyCommand=evil/a',
    '-oProxyCommand=evil:a',
    'https://',
    'https://s3cret@forge\n.example/a',
  ])('%j is refused without being repeated', (text) => {
    expect(() => parseRemoteAddress(text)).toThrow(/^Cannot use the address of the remote/);
  });
});

describe('reports of git push', () => {
  const ref = 'refs/heads/main';
  test.each([
    [' \tabc:refs/heads/main\t1..2\nDone', 'accepted'],
    ['=\tabc:refs/heads/main\t[up to date]', 'accepted'],
    ['!\tabc:refs/heads/main\t[rejected] (stale info)', 'moved'],
    ['!\tabc:refs/heads/main\t[remote rejected] (failed to update ref)', 'moved'],
    [
      "!\tabc:refs/heads/main\t[remote rejected] (cannot lock ref 'refs/heads/main': is at 1 but expected 2)",
      'moved',
    ],
    ['!\tabc:refs/heads/main\t[remote rejected] (pre-receive hook declined)', 'refused'],
    ['!\tabc:refs/heads/main\t[remote rejected] (protected branch hook declined)', 'refused'],
    ['!\tabc:refs/heads/main\t[remote failure] (remote failed to report status)', 'unknown'],
    [' \tabc:refs/heads/other\t1..2', 'unknown'],
    ['', 'unknown'],
  ])('%j: %s', (text, ended) => {
    expect(readPushReport(`To somewhere\n${text}\n`, ref).ended).toBe(ended);
  });
});

describe('error messages of git', () => {
  test.each([
    ['fatal: Authentication failed for https://x', 'credentials'],
    ["fatal: could not read Username for 'https://x': terminal prompts disabled", 'credentials'],
    [
      'git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.',
      'credentials',
    ],
    ['No ED25519 host key is known for x and you have requested strict checking.', 'identity'],
    ['SSL certificate problem: self-signed certificate', 'identity'],
    ['ssh: connect to host x port 22: Connection refused', 'unreachable'],
    ['fatal: unable to access https://x: The requested URL returned error: 503', 'unreachable'],
    ['fatal: unable to access https://x: The requested URL returned error: 403', 'refused'],
    ['ERROR: Permission to a/b.git denied to deploy-key.', 'refused'],
    ['error: RPC failed; curl 56 Recv failure: Connection reset by peer', 'unreachable'],
    ["fatal: repository 'https://x/' not found", 'no-repository'],
    ["fatal: couldn't find remote ref refs/heads/main", 'no-branch'],
    ['fatal: something else', 'failed'],
  ])('%j: %s', (text, problem) => {
    expect(problemOf(text)).toBe(problem);
  });

  test('is shown as one line without escapes, control characters, secrets and noise', () => {
    const text =
      'remote: \u001b[31mno\u001b[0m\u0007\nremote: no\nhint: try\nfatal: https://a:tok@h/x tok\u202e\n';
    expect(sanitize(text, ['tok'])).toBe('no; https://h/x [redacted]');
    expect(sanitize('x'.repeat(10_000)).length).toBeLessThan(500);
  });
});
