/** `tenants/<name>/vcluster.yaml`: files of another make that are objects all the same. */
import { describe, expect, test } from 'vitest';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { formatProblem } from '../../src/manifests/manifest.ts';
import { kinds, openTestPlatform } from '../support/platform.ts';

const reader = fileReader(kinds, '');

function read(text: string, path = 'tenants/blue/vcluster.yaml') {
  const { documents } = reader.read(path, 'b', Buffer.from(text));
  const problems = documents.flatMap((document) => document.problems.map(formatProblem));
  return { documents, problems };
}

/** As its vendor's documentation writes it, with much that is not about endpoints. */
const EXISTING = `controlPlane:
  distro:
    k8s:
      enabled: true
  statefulSet: {resources: {limits: {memory: 2Gi}}}
exportKubeConfig:
  context: blue
sync:
  toHost:
    pods: {enabled: true}
    endpoints:
      patches:
        - path: metadata.annotations["example.com/team"]
          expression: '"blue-" + value'
  fromHost:
    nodes: {enabled: false}
`;

describe('a vcluster.yaml', () => {
  test('a vcluster.yaml that was there before is an object without a change', () => {
    const { documents, problems } = read(EXISTING);

    expect(problems).toEqual([]);
    expect(documents[0]?.key).toMatchObject({ kind: 'Tenant', namespace: '', name: 'blue' });
    expect(documents[0]?.manifest?.spec).toMatchObject({
      exportKubeConfig: { context: 'blue' },
      sync: { toHost: { pods: { enabled: true } } },
    });
  });

  test.each([
    ['tenants/blue/vcluster.yml', true],
    ['tenants/vcluster.yaml', false],
    ['tenants/blue/other.yaml', false],
    ['x/tenants/blue/vcluster.yaml', false],
    ['tenants/blue/deep/vcluster.yaml', false],
  ])('a vcluster.yaml at %s counts as one: %s', (path, counts) => {
    const [document] = read('sync: {}\n', path).documents;

    expect(document?.key?.kind === 'Tenant').toBe(counts);
  });

  test('is found below the folder of the manifests', () => {
    const below = fileReader(kinds, 'platform');
    const [document] = below.read(
      'platform/tenants/red/vcluster.yaml',
      'b',
      Buffer.from('sync: {}'),
    ).documents;

    expect(document?.key?.name).toBe('red');
  });

  test.each([
    ['sync: [\n', 'tenants/blue/vcluster.yaml:'],
    [
      'sync:\n  toHost:\n    endpoints:\n      enabled: maybe\n',
      ':4:16: sync.toHost.endpoints.enabled: ',
    ],
    [
      'sync:\n  toHost:\n    endpoints:\n      patchs: []\n',
      ':4:7: sync.toHost.endpoints.patchs: ',
    ],
    [
      'sync:\n  toHost:\n    endpoints:\n      patches:\n        - expression: "1"\n',
      ':5:11: sync.toHost.endpoints.patches[0]',
    ],
    ['external:\n  gitplane:\n    cluster: A b\n', ':3:14: external.gitplane.cluster: '],
    [
      'external: {gitplane: {source: {kubeconfig: {file: ../x}}}}\n',
      'external.gitplane.source.kubeconfig.file: Invalid value',
    ],
    ['external: {gitplane: {target: {kubeconfig: {}}}}\n', 'one of file and sharedSecret'],
    ['- a list\n', ':1:1: Expected a map'],
    ['sync: {}\n---\nsync: {}\n', ':3:1: One file is one Tenant'],
  ])('%j is refused with its place, and is known by its path', (text, message) => {
    const { documents, problems } = read(text);

    expect(problems.join('\n')).toContain(message);
    expect(problems.join('\n')).not.toContain('spec');
    for (const { key } of documents) expect(key?.name).toBe('blue');
  });

  test('a vcluster.yaml in a folder with an invalid name is refused', () => {
    expect(read('sync: {}', 'tenants/Not_a_name/vcluster.yaml').problems.join()).toContain(
      'metadata.name: Invalid value',
    );
  });
});

test('a manifest of kind Tenant is refused, since the file is the only form', () => {
  const text = 'apiVersion: management.gitplane.dev/v1\nkind: Tenant\nmetadata: {name: a}\n';

  expect(read(text, 'a.yaml').problems.join()).toContain('kind: Forbidden: Tenant objects are');
});

describe('a vcluster.yaml on a platform', () => {
  test('a tenant keeps its last good file, and its identity through a broken one', async () => {
    const platform = await openTestPlatform();
    const path = 'tenants/blue/vcluster.yaml';
    await platform.commit({ [path]: EXISTING });
    const before = platform.find('tenants', 'blue')?.object;
    await platform.commit({ [path]: 'sync: [\n' });
    const broken = platform.find('tenants', 'blue')?.object;
    await platform.commit({ [path]: EXISTING.replace('blue-', 'red-') });
    const after = platform.find('tenants', 'blue')?.object;

    expect(broken?.spec).toEqual(before?.spec);
    expect(JSON.stringify(broken?.status)).toContain('Degraded');
    expect(after?.metadata).toMatchObject({ uid: before?.metadata.uid, generation: 2 });
    expect(JSON.stringify(after?.spec)).toContain('red-');

    const disk = await platform.restart({ disk: new Map() });
    expect(disk.find('tenants', 'blue')?.object.metadata).toMatchObject({
      uid: before?.metadata.uid,
      generation: 2,
      creationTimestamp: before?.metadata.creationTimestamp,
    });
    await disk.commit({ [path]: null });
    expect(disk.names('tenants')).toEqual([]);
  });
});
