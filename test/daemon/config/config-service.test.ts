import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { StartError } from '../../../src/bootstrap/start-error.ts';
import type { PlatformConfig } from '../../../src/config/platform-config.ts';
import { type ConfigService, openConfig } from '../../../src/daemon/config/config-service.ts';
import { conditionsOf } from '../../../src/registry/projection/served-object.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { kinds, openTestPlatform, type TestPlatform } from '../../support/platform.ts';

interface Served {
  readonly platform: TestPlatform;
  readonly config: ConfigService;
  readonly log: string[];
  metric(name: string): Promise<string[]>;
}

async function serve(
  of: { platform?: TestPlatform; environment?: Record<string, string>; file?: string } = {},
): Promise<Served> {
  const { environment = {}, file } = of;
  const platform = of.platform ?? (await openTestPlatform());
  const log: string[] = [];
  const registry = new Registry();
  const config = openConfig({
    options: { configFile: file, environment },
    kinds,
    store: platform.store,
    branch: platform.branch,
    clock: Date,
    logger: createLogger('info', { write: (line) => void log.push(line) }),
    metrics: { registry },
    times: { stableMs: 20 },
  });
  onTestFinished(() => config.close());
  const metric = async (name: string): Promise<string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith(name));
  return { platform, config, log, metric };
}

function manifest(raw: string, name = 'platform'): Record<string, string> {
  const spec = { raw };
  const apiVersion = 'management.gitplane.dev/v1';
  const object = { apiVersion, kind: 'Config', metadata: { name }, spec };
  return { [`config/${name}.yaml`]: JSON.stringify(object) };
}

function inForce(served: Served, name = 'platform'): string | undefined {
  return condition(served, 'InForce', name);
}

function condition({ platform }: Served, type: string, name = 'platform'): string | undefined {
  const conditions = conditionsOf(platform.find('config', name)?.object.status);
  const found = conditions.find((one) => one.type === type);
  return found && `${found.status} ${found.reason}: ${found.message}`;
}

const MAX = 'auth: {accessKeyMaxTTLSeconds: 60}';

describe('the configuration', () => {
  test('has its defaults where there is none', async () => {
    const { config, metric } = await serve();
    expect(config.current).toMatchObject({
      auth: { loginAccessKeyTTLSeconds: 1_728_000 },
      projectNamespacePrefix: 'p-',
    });
    expect(await metric('gitplane_config_in_force')).toEqual(['gitplane_config_in_force 1']);
  });

  test('follows git, and notifies its subscribers', async () => {
    const { platform, config } = await serve();
    const seen: [number | undefined, number | undefined][] = [];
    const stop = config.subscribe((now, before) =>
      seen.push([before.auth.accessKeyMaxTTLSeconds, now.auth.accessKeyMaxTTLSeconds]),
    );
    await platform.commit(manifest(MAX));
    // Another comment is the same configuration.
    await platform.commit(manifest(`${MAX} # a minute`));
    await platform.commit(manifest('platformHost: a'));
    stop();
    await platform.commit({ 'config/platform.yaml': null });
    expect(seen).toEqual([
      [undefined, 60],
      [60, undefined],
    ]);
    expect(config.current).not.toHaveProperty('platformHost');
  });

  test('cannot be changed in place', async () => {
    const { platform, config } = await serve();
    await platform.commit(manifest('audit: {policy: {rules: [{level: None}]}}'));
    const held = config.current as unknown as { audit: { policy: { rules: object[] } } };
    expect(() => held.audit.policy.rules.push({})).toThrow(TypeError);
    expect(() => Object.assign(held, { audit: {} })).toThrow(TypeError);
  });

  test('a listener that fails does not keep others from being notified', async () => {
    const { platform, config, log } = await serve();
    const heard = vi.fn();
    config.subscribe(() => {
      throw new Error('broken part');
    });
    config.subscribe(heard);
    await platform.commit(manifest(MAX));
    expect(heard).toHaveBeenCalledOnce();
    expect(log.join()).toContain('broken part');
  });

  test('says for as long as it is so that it takes what nobody checked', async () => {
    const served = await serve();
    const { platform } = served;
    const saml = {
      redirectURI: 'https://p/auth/open/callback',
      ssoURL: 'https://i/sso',
      usernameAttr: 'name',
      emailAttr: 'mail',
      insecureSkipSignatureValidation: true,
    };
    const auth = { oidc: { insecureCa: true }, connectors: [{ id: 'open', saml }] };
    await platform.commit({
      ...manifest(JSON.stringify({ auth })),
      ...manifest(JSON.stringify({ auth }), 'second'),
    });
    const told = (name?: string) => condition(served, 'SignInVerified', name);
    await vi.waitFor(() => expect(inForce(served, 'second')).toBeDefined(), { timeout: 30_000 });
    await vi.waitFor(() => expect(told()).toBeDefined(), { timeout: 30_000 });
    expect(told()).toBe(
      'False ChecksTurnedOff: Sign-in does not verify the identity provider: auth.oidc.insecureCa, ' +
        'auth.connectors[0].saml.insecureSkipSignatureValidation.',
    );
    // It is in force nowhere.
    expect(told('second')).toBeUndefined();
    await platform.commit(manifest('{}'));
    await vi.waitFor(() => expect(told()).toBeUndefined(), { timeout: 30_000 });
  });

  test('is the first by name, and the others say so', async () => {
    const served = await serve();
    await served.platform.commit({ ...manifest(MAX, 'b'), ...manifest('platformHost: a', 'c') });
    await vi.waitFor(() =>
      expect(inForce(served, 'c')).toBe('False AnotherConfig: Only the first by name counts: b.'),
    );
    expect(inForce(served, 'b')).toBeUndefined();
    await served.platform.commit({ 'config/b.yaml': null });
    expect(served.config.current).toMatchObject({ platformHost: 'a' });
    await vi.waitFor(() => expect(inForce(served, 'c')).toBeUndefined());
  });

  test('the last good configuration stays in force when the manifest breaks, and the status reports it', async () => {
    const { platform, config, metric } = await serve();
    await platform.commit(manifest(MAX));
    await platform.commit(manifest('auth: {accessKeyMaxTTLSeconds: -1}'));
    expect(config.current.auth.accessKeyMaxTTLSeconds).toBe(60);
    expect(config.problem).toContain('config/platform.yaml:1:');
    expect(await metric('gitplane_config_in_force')).toEqual(['gitplane_config_in_force 0']);
    await platform.commit(manifest(MAX));
    expect(config.problem).toBeUndefined();
  });
});

describe('variables of the environment', () => {
  const RAW = `${MAX.slice(0, -1)}, oidc: {clientId: x, clientSecret: $OIDC_SECRET}}`;

  test('are put in for consumers, and in no status', async () => {
    const { platform, config } = await serve({ environment: { OIDC_SECRET: 'hunter2' } });
    await platform.commit(manifest(RAW));
    expect(config.current.auth.oidc?.clientSecret).toBe('hunter2');
    const { object } = platform.find('config', 'platform') ?? {};
    expect(JSON.stringify(object)).not.toContain('hunter2');
  });

  test('missing variables leave the whole former configuration in force', async () => {
    const served = await serve();
    const { platform, config, log, metric } = served;
    await platform.commit(manifest('auth: {accessKeyMaxTTLSeconds: 5}'));
    await platform.commit(manifest(RAW));
    expect(config.current.auth).toMatchObject({ accessKeyMaxTTLSeconds: 5 });
    const words =
      'Config platform: auth.oidc.clientSecret (line 1, column 70) names $OIDC_SECRET, which is not in the environment. What was in force before stays.';
    await vi.waitFor(() => expect(inForce(served)).toBe(`False VariableMissing: ${words}`));
    expect(log.join()).toContain('OIDC_SECRET');
    expect(await metric('gitplane_config_changes_total')).toContain(
      'gitplane_config_changes_total{result="refused"} 1',
    );
    await platform.commit(manifest(MAX));
    expect(config.current.auth.accessKeyMaxTTLSeconds).toBe(60);
    await vi.waitFor(() => expect(inForce(served)).toBeUndefined());
  });

  test('variables that are missing at the start disable their block, and no limit', async () => {
    const first = await serve({ environment: { OIDC_SECRET: 'hunter2' } });
    await first.platform.commit(manifest(RAW));
    await first.config.close();
    const platform = await first.platform.restart();
    const second = await serve({ platform });
    expect(second.config.current.auth.accessKeyMaxTTLSeconds).toBe(60);
    expect(second.config.current.auth).not.toHaveProperty('oidc');
    await vi.waitFor(() => expect(inForce(second)).toContain('without the blocks that need it'));
    await second.config.close();
    const third = await serve({
      platform: await platform.restart(),
      environment: { OIDC_SECRET: 'hunter2' },
    });
    expect(third.config.current.auth.oidc?.clientSecret).toBe('hunter2');
    await vi.waitFor(() => expect(inForce(third)).toBeUndefined());
  });
});

describe('a file', () => {
  function fileWith(text: string): string {
    const folder = mkdtempSync(join(tmpdir(), 'gitplane-config-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'config.yaml');
    writeFileSync(file, text);
    return file;
  }

  const hosted = (config: PlatformConfig): string | undefined => config.platformHost;

  test('counts instead of git, and is read again when it changes', async () => {
    const file = fileWith('platformHost: a\n');
    const served = await serve({ file });
    const { platform, config } = served;
    await platform.commit(manifest('platformHost: git'));
    expect([hosted(config.current), config.fromFile]).toEqual(['a', true]);
    await vi.waitFor(() => expect(inForce(served)).toContain('ReadFromFile'));
    writeFileSync(file, 'platformHost: bb\n');
    await vi.waitFor(() => expect(hosted(config.current)).toBe('bb'), 10_000);
  });

  test('a broken file changes nothing, and the problem has its place', async () => {
    const file = fileWith('platformHost: a\n');
    const { config, log } = await serve({ file });
    writeFileSync(file, 'platformHost: b\nauth:\n  maxTTL: 1\n');
    await vi.waitFor(() => expect(config.problem).toContain(`${file}:3:3: auth.maxTTL`), 10_000);
    expect(hosted(config.current)).toBe('a');
    expect(log.join()).toContain(':3:3');
    rmSync(file);
    await vi.waitFor(() => expect(config.problem).toBe(`${file}: ENOENT`), 10_000);
    expect(hosted(config.current)).toBe('a');
    writeFileSync(file, 'platformHost: ccc\n');
    await vi.waitFor(() => expect(hosted(config.current)).toBe('ccc'), 10_000);
    expect(config.problem).toBeUndefined();
  });

  test.each([
    ['auth: {x: 1}', ':1:8: auth.x: Forbidden: unknown field'],
    ['- a', ':1:1: must be a YAML map'],
  ])('a file that is wrong at the start stops it: %s', async (text, words) => {
    await expect(serve({ file: fileWith(text) })).rejects.toThrow(StartError);
    await expect(serve({ file: fileWith(text) })).rejects.toThrow(words);
  });
});

describe('a secret store', () => {
  const store = (token: string, more = ''): string =>
    `secretStore: {enabled: true, address: "http://a:1", auth: {token: ${token}}, syncInterval: 1m}${more}`;

  test('a secret store whose token variable is not set is disabled, and the former store is not used', async () => {
    const served = await serve({ environment: { SET: 'tok' } });
    const { platform, config, metric } = served;
    const heard = vi.fn();
    config.onMissingVariables(heard);
    await platform.commit(manifest(store('$SET')));
    expect(config.current.secretStore?.auth?.token).toBe('tok');
    await platform.commit(manifest(store('$UNSET', '\nplatformHost: host')));

    expect(config.current.secretStore).toBeUndefined();
    expect(config.current.platformHost).toBe('host');
    expect(config.secretStores.get('default')?.missing).toContain(
      'names $UNSET, which is not in the environment',
    );
    expect(heard).toHaveBeenCalledOnce();
    await vi.waitFor(() => expect(inForce(served)).toContain('False VariableMissing'));
    expect(inForce(served)).toContain('names $UNSET, which is not in the environment');
    expect(await metric('gitplane_config_in_force')).toEqual(['gitplane_config_in_force 0']);

    await platform.commit(manifest(store('$SET')));
    expect(config.current.secretStore?.auth?.token).toBe('tok');
    expect(config.secretStores.get('default')?.missing).toBeUndefined();
    await vi.waitFor(() => expect(inForce(served)).toBeUndefined());
  });

  test('a named secret store without its variable is disabled alone', async () => {
    const { platform, config } = await serve({ environment: { SET: 'tok' } });
    const named = (name: string, token: string): string =>
      `{name: ${name}, enabled: true, address: "http://a:1", auth: {token: ${token}}}`;
    const stores = (...all: string[]): string => `\nsecretStores: [${all.join(', ')}]`;
    const tokens = (): unknown => [
      config.current.secretStore?.auth?.token,
      ...(config.current.secretStores ?? []).map(({ name, auth }) => [name, auth?.token]),
    ];
    await platform.commit(manifest(store('a', stores(named('eu', '$SET'), named('us', 'b')))));
    expect(tokens()).toEqual(['a', ['eu', 'tok'], ['us', 'b']]);
    const heard = vi.fn();
    config.onMissingVariables(heard);
    await platform.commit(manifest(store('a', stores(named('us', 'c'), named('eu', '$UNSET')))));

    expect(tokens()).toEqual(['a', ['us', 'c']]);
    expect(heard).toHaveBeenCalledOnce();
    expect([...config.secretStores.keys()]).toEqual(['default', 'us', 'eu']);
    expect(config.secretStores.get('eu')).toMatchObject({ home: 'secretStores[eu]' });
    expect(config.secretStores.get('eu')?.missing).toContain('names $UNSET');
    expect(config.secretStores.get('us')?.missing).toBeUndefined();

    const database = '\ndatabase: {dataSource: $GONE}';
    const lacking = stores(named('us', '$UNSET'), named('eu', 'd'));
    await platform.commit(manifest(store('e', lacking + database)));
    expect(tokens()).toEqual(['a']);
    expect(config.secretStores.get('us')?.missing).toContain('names $UNSET');
  });

  test('is withdrawn as well where another block lacks a variable and keeps the configuration of before', async () => {
    const { platform, config } = await serve({ environment: { SET: 'tok' } });
    await platform.commit(manifest(store('$SET', '\nplatformHost: before')));
    await platform.commit(
      manifest(store('$UNSET', '\nplatformHost: after\ndatabase: {dataSource: $ALSO_UNSET}')),
    );

    expect(config.current.secretStore).toBeUndefined();
    expect(config.current.platformHost).toBe('before');
  });

  test('a secret store that is not in use is named in the status', async () => {
    const served = await serve();
    const { platform, config, metric } = served;
    await platform.commit(manifest(store('tok')));
    config.reportSecretStore('The secret store needs a token, and there is none');
    await vi.waitFor(() =>
      expect(inForce(served)).toBe(
        'False SecretStoreNotInUse: The secret store needs a token, and there is none',
      ),
    );
    expect(await metric('gitplane_config_in_force')).toEqual(['gitplane_config_in_force 0']);

    config.reportSecretStore(undefined);
    await vi.waitFor(() => expect(inForce(served)).toBeUndefined());
    expect(await metric('gitplane_config_in_force')).toEqual(['gitplane_config_in_force 1']);
  });
});
