/**
 * A real API server of Kubernetes takes ID tokens of the built-in OpenID provider, as it does for
 * people with kubelogin. Built by `npm run kubernetes`: where nobody did, this file says so and tests
 * nothing.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Browser, KUBECTL, RelyingParty, WEB } from '../oidc-server/running.ts';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import {
  type ApiServer,
  hasApiServer,
  startApiServer,
} from '../support/kube-apiserver/api-server.ts';
import { loginKey } from '../support/login-key.ts';
import { freePort } from '../support/machine.ts';

if (!hasApiServer) {
  test.skip('kube-apiserver is not built (npm run kubernetes): it judged no ID token', () => {});
}

describe.skipIf(!hasApiServer)('kube-apiserver with the platform as its OpenID provider', () => {
  let daemon: Daemon;
  let cluster: ApiServer;
  let ca: string;
  let issuer: string;
  const browser = (key: string): Browser => {
    const made = new Browser(ca);
    made.signIn(key);
    return made;
  };

  async function made(path: string, body: object): Promise<void> {
    const answer = await daemon.call('POST', path, { body });
    expect(answer.code, answer.text).toBe(201);
  }

  beforeAll(async () => {
    const port = await freePort();
    issuer = `https://127.0.0.1:${port}/oidc`;
    daemon = await startDaemon({ args: ['--listen', `127.0.0.1:${port}`] });
    ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'), 'utf8');
    const raw = JSON.stringify({ oidc: { enabled: true, clients: [KUBECTL, WEB] } });
    const options = { body: { spec: { raw } }, type: 'application/merge-patch+json' };
    const changed = await daemon.call('PATCH', `${API}/config/platform`, options);
    expect(changed.code, changed.text).toBe(200);
    await made(`${API}/users`, { metadata: { name: 'kim' }, spec: { groups: ['dev'] } });
    cluster = await startApiServer([
      `--oidc-issuer-url=${issuer}`,
      '--oidc-client-id=kubectl',
      `--oidc-ca-file=${join(daemon.dataDir, 'tls/ca.crt')}`,
      '--oidc-username-claim=sub',
      '--oidc-username-prefix=gitplane:',
      '--oidc-groups-claim=groups',
      '--oidc-groups-prefix=gitplane:',
    ]);
  });

  afterAll(async () => {
    await cluster?.stop();
    await daemon?.stop();
  });

  test('knows the user that signed in with kubectl, and refuses a token of another client', async () => {
    const key = await loginKey(daemon, 'kim');
    const kubectl = await RelyingParty.kubectl(issuer, ca);
    const tokens = await kubectl.signIn(browser(key), {
      scope: 'openid groups offline_access',
    });
    // It fetches the issuer's documents in the background, and asks nobody who is not ready.
    await vi.waitFor(async () => expect(await cluster.whoIs(tokens.id_token ?? '')).toBeDefined(), {
      timeout: 60_000,
      interval: 200,
    });
    const groups = ['gitplane:gitplane:user:kim', 'gitplane:dev', 'system:authenticated'];
    const expected = { username: 'gitplane:kim', groups };
    expect(await cluster.whoIs(tokens.id_token ?? '')).toMatchObject(expected);
    const again = await kubectl.refresh(tokens.refresh_token ?? '');
    expect(await cluster.whoIs(again.id_token ?? '')).toMatchObject(expected);
    const web = await RelyingParty.web(issuer, ca);
    const other = await web.signIn(browser(key));
    expect(await cluster.whoIs(other.id_token ?? '')).toBeUndefined();
    expect(await cluster.whoIs(tokens.access_token)).toBeUndefined();
    expect(await cluster.whoIs(key)).toBeUndefined();
  });
});
