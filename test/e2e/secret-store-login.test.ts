/** A daemon that logs in at the store by itself, from its configuration to its end. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { API, scratchDir, startDaemon } from '../support/daemon.ts';
import { userpassLogin } from '../support/kv/kv-auth.ts';
import { startKvServer } from '../support/kv-server.ts';

const PASSWORD = 'password-of-the-store-5d1e';

test('a password in a folder of --credentials-dir gives a token, which is gone after the daemon', async () => {
  const { address, store, close } = await startKvServer();
  onTestFinished(close);
  store.tokens.clear();
  store.mount('secret/').put('app/mail', { a: '1' });
  store.logins.set('auth/userpass/login/gitplane', userpassLogin(PASSWORD));
  const folder = scratchDir();
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, `${PASSWORD}\n`);
  const daemon = await startDaemon({ seed: undefined, args: ['--credentials-dir', folder] });
  const auth = { userpass: { username: 'gitplane', passwordFile } };
  const raw = JSON.stringify({ secretStore: { enabled: true, address, auth } });
  const body = { metadata: { name: 'main' }, spec: { raw } };
  expect((await daemon.call('POST', `${API}/config`, { body })).code).toBe(201);
  const annotations = {
    'gitplane.dev/secret-store-kv-mount-path': 'secret',
    'gitplane.dev/secret-store-kv-secret-path': 'app/mail',
  };
  const secrets = `${API}/namespaces/p-web/projectsecrets`;
  const tied = { metadata: { name: 'mail', annotations } };
  expect((await daemon.call('POST', secrets, { body: tied })).code).toBe(201);
  const cycle = '/kubernetes/management/secret-store/sync?wait=true';
  expect((await daemon.call('POST', cycle)).code).toBe(200);

  const found = (await daemon.call('GET', `${secrets}/mail`)).json();
  expect(found.spec.data).toEqual({ a: 'MQ==' });
  const [issued = ''] = store.tokens.keys();
  expect(issued).not.toBe('');
  expect(await daemon.stop()).toBe(0);
  expect(store.tokens.size).toBe(0);
  for (const secret of [PASSWORD, issued]) expect(daemon.output()).not.toContain(secret);
});
