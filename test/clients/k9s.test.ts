/** k9s in a terminal of tmux: its views of our kinds, which follow changes, and what its keys do to an object. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { findProgram } from '../support/programs.ts';
import { goProgram } from './program.ts';

const LIMIT = 1_800_000;
const SOON = { timeout: 120_000, interval: 200 };
const TEAM = `${API}/teams/k9s-one`;
const SIZE = ['-x', '160', '-y', '50'];

describe.skipIf(process.env['GITPLANE_CLIENTS'] === undefined)('k9s', () => {
  const folder = scratchDir('gitplane-k9s-');
  const socket = join(folder, 'tmux');
  let daemon: Daemon;

  beforeAll(async () => {
    daemon = await startDaemon();
  });
  afterAll(async () => {
    spawnSync('tmux', ['-S', socket, 'kill-server']);
    await daemon?.stop();
  });

  async function tmux(...words: string[]): Promise<string> {
    // Edits of k9s run the kubectl on the PATH with this editor.
    const editor = 'sed -i s/elsewhere/here/';
    const own = { HOME: folder, K9S_CONFIG_DIR: join(folder, 'k9s'), TERM: 'xterm-256color' };
    const limits = { GOMEMLIMIT: '1GiB', KUBE_EDITOR: editor, K9S_EDITOR: '', EDITOR: '' };
    const env = { ...process.env, ...own, ...limits };
    const done = await run('tmux', ['-S', socket, '-f', '/dev/null', ...words], { env });
    expect(done.code, done.stderr).toBe(0);
    return done.stdout;
  }

  const type = (...keys: string[]): Promise<string> => tmux('send-keys', ...keys);

  /** Waits until the terminal shows each of the texts. */
  async function shows(...texts: RegExp[]): Promise<void> {
    await vi.waitFor(async () => {
      const screen = await tmux('capture-pane', '-p');
      for (const text of texts) expect(screen).toMatch(text);
    }, SOON);
  }

  async function team(method: string, path: string, displayName: string): Promise<void> {
    const body = { metadata: { name: 'k9s-one' }, spec: { displayName } };
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const { code, text } = await daemon.call(method, path, { body, type });
    expect([200, 201], text).toContain(code);
  }

  async function isDisplayed(displayName: string | undefined): Promise<void> {
    await vi.waitFor(async () => {
      const { code, text } = await daemon.call('GET', TEAM);
      const found = code === 404 ? undefined : JSON.parse(text).spec.displayName;
      expect(found).toBe(displayName);
    }, SOON);
  }

  test(
    'lists, follows, describes, edits and deletes teams, and lists other kinds',
    async (context) => {
      const program = k9s();
      if (program === undefined) return context.skip();
      const kubeconfig = join(daemon.dataDir, 'kubeconfig');
      const words = ['--kubeconfig', kubeconfig, '--command', 'teams', '--logFile'];
      const own = ['timeout', '600', program, ...words, join(folder, 'k9s.log')];
      await tmux('new-session', '-d', ...SIZE, own.join(' '));
      await shows(/teams\(all\)\[3\]/, /NAME.* DISPLAY NAME +USERS/, /storefront +Storefront/);
      await team('POST', `${API}/teams`, 'One');
      await shows(/teams\(all\)\[4\]/, /k9s-one +One/);
      await team('PATCH', TEAM, 'Edited elsewhere');
      await shows(/k9s-one +Edited elsewhere/);
      // The first of the list, which is the one that keys act on.
      await type('d');
      await shows(/Describe\(.*k9s-one\)/, /Display Name: +Edited elsewhere/);
      await type('Escape');
      await shows(/teams\(all\)\[4\]/);
      await type('y');
      await shows(/YAML\(.*k9s-one\)/, /displayName: Edited elsewhere/, /kind: Team/);
      await type('Escape');
      await shows(/teams\(all\)\[4\]/);
      await type('e');
      await isDisplayed('Edited here');
      await shows(/k9s-one +Edited here/);
      await type('C-d');
      await shows(/Delete teams .*k9s-one\?/);
      await type('Tab');
      await type('Enter');
      await isDisplayed(undefined);
      await shows(/teams\(all\)\[3\]/);
      await type(':sharedsecrets all', 'Enter');
      await shows(/sharedsecrets\(all\)\[3\]/, /payments +card-gateway +Card gateway/);
      await type(':crd', 'Enter');
      await shows(/customresourcedefinitions\(all\)\[7\]/, /teams +management\.gitplane\.dev/);
    },
    LIMIT,
  );
});

/** Path of k9s, where there is what it needs. */
function k9s(): string | undefined {
  const missing = ['tmux', 'timeout', 'kubectl'].filter((name) => findProgram(name) === undefined);
  const module = { folder: join(import.meta.dirname, 'k9s'), main: 'github.com/derailed/k9s' };
  if (missing.length === 0) return goProgram(module);
  process.stderr.write(`\nk9s is SKIPPED: ${missing.join(', ')} is missing\n\n`);
  return undefined;
}
