/** Every endpoint of spec section 4, as curl would call it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type Answer, API, type CallOptions, type Daemon, startDaemon } from '../support/daemon.ts';
import { collectionPath, generationAfter, objectOf, SAMPLES, settled } from './samples.ts';

const YAML = 'application/yaml';
const JSON_PATCH = 'application/json-patch+json';

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

function patch(path: string, operations: object): Promise<Answer> {
  return daemon.call('PATCH', path, { body: operations, type: JSON_PATCH });
}

describe.each(SAMPLES)('$kind', (sample) => {
  const collection = collectionPath(sample, API);
  const path = `${collection}/zz-rest`;
  const yaml = (name: string, meta: object = {}): CallOptions => {
    const object = objectOf(sample, name) as { metadata: object };
    return {
      body: stringify({ ...object, metadata: { ...object.metadata, ...meta } }),
      type: YAML,
    };
  };

  // covers: service.verbs service.envelope metadata.resourceVersion endpoints.yaml
  // covers: endpoints.jsonPatch endpoints.{sharedsecrets,teams}.{list,GET,POST,PUT,PATCH,DELETE}
  // covers: endpoints.ownedaccesskeys.{POST,PUT,PATCH,DELETE}
  // covers: {SharedSecret,Team,OwnedAccessKey}.spec.{displayName,description} versioning.path
  // covers: versioning.apiVersion
  // covers: Config.spec.raw versioning.recognized
  test('is created with YAML, replaced, patched, read, listed and deleted', async () => {
    const created = await daemon.call('POST', collection, yaml('zz-rest'));
    expect([created.code, created.json()]).toMatchObject([201, objectOf(sample, 'zz-rest')]);
    const { metadata } = created.json();
    expect(metadata).toMatchObject({ uid: expect.any(String) });
    expect(metadata.generation).toBe(generationAfter(sample, 0));
    expect(metadata.resourceVersion).toMatch(/^[1-9]\d*$/);

    const { resourceVersion } = (await settled(daemon, sample, path)).json().metadata;
    const body = yaml('zz-rest', { resourceVersion, labels: { put: 'done' } });
    const replaced = await daemon.call('PUT', path, body);
    expect([replaced.code, replaced.json().metadata.labels]).toEqual([200, { put: 'done' }]);

    const operations = [
      { op: 'add', path: '/metadata/annotations', value: {} },
      { op: 'add', path: '/metadata/annotations/example.com~1note', value: 'patched' },
    ];
    const patched = await patch(path, operations);
    expect([patched.code, patched.json().metadata]).toMatchObject([
      200,
      { uid: metadata.uid, annotations: { 'example.com/note': 'patched' } },
    ]);

    expect(patched.json().metadata.generation).toBe(generationAfter(sample, 0));
    expect((await daemon.call('GET', path)).json()).toEqual(patched.json());
    const list = (await daemon.call('GET', collection)).json();
    expect(list).toMatchObject({ kind: `${sample.kind}List`, apiVersion: `${sample.group}/v1` });
    expect(list.metadata.resourceVersion).toMatch(/^[1-9]\d*$/);
    expect(list.items).toContainEqual(patched.json());

    const deleted = await daemon.call('DELETE', path);
    const { plural: kind, group } = sample;
    expect([deleted.code, deleted.json()]).toEqual([
      200,
      {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        details: { name: 'zz-rest', group, kind, uid: metadata.uid },
      },
    ]);
    expect((await daemon.call('GET', path)).code).toBe(404);
  });

  test('is shown as YAML and as a table without secrets', async () => {
    await daemon.call('POST', collection, yaml('zz-forms'));
    const asYaml = await daemon.call('GET', `${collection}/zz-forms`, {
      headers: { accept: YAML },
    });
    expect(asYaml.headers['content-type']).toBe(YAML);
    expect(asYaml.text).toMatch(/^apiVersion: /);
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const table = (await daemon.call('GET', collection, { headers: { accept } })).json();
    expect(table).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(table.columnDefinitions[0]).toMatchObject({ name: 'Name', format: 'name' });
    expect(JSON.stringify(table)).not.toContain('c2VjcmV0');
    const partial = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
    const metas = (await daemon.call('GET', collection, { headers: { accept: partial } })).json();
    expect(metas.kind).toBe('PartialObjectMetadataList');
    expect(metas.items[0]).not.toHaveProperty('spec');
    await daemon.call('DELETE', `${collection}/zz-forms`);
  });
});

describe('DirectClusterEndpointToken', () => {
  const path = `${API}/directclusterendpointtokens`;

  test.each([
    ['GET', path],
    ['GET', `${path}/x`],
    ['PUT', `${path}/x`],
    ['PATCH', `${path}/x`],
    ['DELETE', `${path}/x`],
  ])('%s %s is 405', async (method, at) => {
    const answer = await daemon.call(method, at);
    expect([answer.code, answer.json().reason]).toEqual([405, 'MethodNotAllowed']);
  });

  // covers: DirectClusterEndpointToken.metadata DirectClusterEndpointToken.spec
  // covers: DirectClusterEndpointToken.status.token endpoints.directclusterendpointtokens.POST
  test('is created from YAML with an empty spec', async () => {
    const answer = await daemon.call('POST', path, { body: 'spec: {}\n', type: YAML });
    expect(answer.code).toBe(201);
    expect(answer.json().status.token.split('.')).toHaveLength(3);
  });
});
