/** The examples beyond the platform: the tours run, and the manifests for Kubernetes hang together. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { SERVE_OPTIONS } from '../../src/options/serve-options.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { ROOT } from './markdown.ts';
import { canRunPages, openShell } from './shell.ts';

describe.skipIf(!canRunPages())('tours', () => {
  let daemon: Daemon;

  beforeAll(async () => {
    daemon = await startDaemon();
  });

  afterAll(async () => {
    await daemon.stop();
  });

  const scripts = readdirSync(join(ROOT, 'examples/tour')).filter((name) => name.endsWith('.sh'));

  test.each(scripts)('%s runs, and takes away what it made', async (script) => {
    const before = await objects();
    const shell = openShell(daemon);
    const { output, failed } = await shell.run(
      `DATA_DIR=data URL=https://127.0.0.1:8443 bash examples/tour/${script}`,
    );
    shell.close();

    expect(failed, output).toBe(false);
    expect(await objects()).toEqual(before);
  });

  async function objects(): Promise<string> {
    const { stdout } = await daemon.kubectl(['get', 'all', '-A', '-o', 'name']);
    return stdout;
  }
});

// biome-ignore lint/suspicious/noExplicitAny: manifests of every shape
type Manifest = any;

describe('examples/kubernetes', () => {
  const file = join(ROOT, 'examples/kubernetes/gitplane.yaml');
  const documents = parseAllDocuments(readFileSync(file, 'utf8'), { strict: true });
  const manifests = documents.map((document) => document.toJS() as Manifest);
  const only = (kind: string): Manifest => {
    const found = manifests.filter((manifest) => manifest.kind === kind);
    expect(found, kind).toHaveLength(1);
    return found[0];
  };
  const pod = (): Manifest => only('Deployment').spec.template.spec;
  const container = (): Manifest => pod().containers[0];

  test('every document parses and says what it is', () => {
    for (const [index, document] of documents.entries()) {
      expect(document.errors).toEqual([]);
      const { apiVersion, kind, metadata } = manifests[index];
      expect([apiVersion, kind]).toEqual([expect.any(String), expect.any(String)]);
      expect(metadata.name).toMatch(/^gitplane/);
      if (kind !== 'Namespace') expect(metadata.namespace).toBe('gitplane');
    }
  });

  test('the volume belongs to one process at a time', () => {
    const { replicas, strategy } = only('Deployment').spec;

    expect({ replicas, strategy }).toEqual({ replicas: 1, strategy: { type: 'Recreate' } });
    const claim = only('PersistentVolumeClaim').metadata.name;
    expect(pod().volumes[0]).toEqual({ name: 'data', persistentVolumeClaim: { claimName: claim } });
    expect(environment()['GITPLANE_DATA_DIR']).toMatch(/^\/data\/./);
    expect(container().volumeMounts).toContainEqual({ name: 'data', mountPath: '/data' });
  });

  test('selectors find the pod', () => {
    const { labels } = only('Deployment').spec.template.metadata;

    expect(only('Deployment').spec.selector.matchLabels).toEqual(labels);
    expect(only('Service').spec.selector).toEqual(labels);
    expect(only('NetworkPolicy').spec.podSelector.matchLabels).toEqual(labels);
  });

  test('probes, service and policy name the port that the daemon listens on', () => {
    const [port] = container().ports;
    const probe = (path: string) => ({ path, port: port.name, scheme: 'HTTPS' });

    expect(environment()['GITPLANE_LISTEN']).toBe(`0.0.0.0:${port.containerPort}`);
    expect(container().startupProbe.httpGet).toEqual(probe('/livez'));
    expect(container().livenessProbe.httpGet).toEqual(probe('/livez'));
    expect(container().readinessProbe.httpGet).toEqual(probe('/readyz'));
    expect(only('Service').spec.ports[0].targetPort).toBe(port.name);
    expect(only('NetworkPolicy').spec.ingress[0].ports[0].port).toBe(port.name);
  });

  test('the pod runs without privileges and without a token', () => {
    expect(pod().automountServiceAccountToken).toBe(false);
    expect(only('ServiceAccount').automountServiceAccountToken).toBe(false);
    expect(pod().securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container().securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  test('the pod gets more time to stop than the daemon takes', () => {
    expect(pod().terminationGracePeriodSeconds).toBeGreaterThan(10);
  });

  test('every variable of the environment is an option', () => {
    const known = SERVE_OPTIONS.map(
      ({ name }) => `GITPLANE_${name.toUpperCase().replaceAll('-', '_')}`,
    );

    expect(Object.keys(environment()).filter((name) => !known.includes(name))).toEqual([]);
  });

  function environment(): Record<string, string> {
    return Object.fromEntries(
      container().env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    );
  }
});
