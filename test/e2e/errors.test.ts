/** Answers to refused requests: code, reason, message, details; nothing changes. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, API, type CallOptions, type Daemon, startDaemon } from '../support/daemon.ts';
import { GROUP, NAMESPACE } from './samples.ts';

const YAML = 'application/yaml';
const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

describe('errors', () => {
  const teams = `${API}/teams`;
  const payments = `${teams}/payments`;
  const secrets = `${API}/namespaces/${NAMESPACE}/sharedsecrets`;
  const team = (extra: object = {}, meta: object = {}): object => ({
    apiVersion: `${GROUP}/v1`,
    kind: 'Team',
    metadata: { name: 'zz-error', ...meta },
    spec: {},
    ...extra,
  });
  const about = { group: GROUP, kind: 'teams' };
  type Row = [string, number, string, () => Promise<Answer>, RegExp, object?];
  const call = (method: string, path: string, options?: CallOptions) => () =>
    daemon.call(method, path, options);
  const post = (body: CallOptions['body'], type?: string) =>
    call('POST', teams, { ...(body && { body }), ...(type === undefined ? {} : { type }) });
  const patch = (operations: object) =>
    call('PATCH', payments, { body: operations, type: JSON_PATCH });
  const merge = (path: string, body: object) => call('PATCH', path, { body, type: MERGE_PATCH });

  test.each<Row>([
    ['broken JSON', 400, 'BadRequest', post('{"a":', 'application/json'), /JSON|parse|Unexpected/i],
    ['broken YAML', 400, 'BadRequest', post('a: [', YAML), /\d/],
    [
      'a Content-Type that is no media type',
      415,
      'UnsupportedMediaType',
      post('{}', 'garbage'),
      /accepted media types include: application\/json, application\/yaml/,
    ],
    [
      'a patch whose Content-Type is no media type',
      415,
      'UnsupportedMediaType',
      call('PATCH', payments, { body: '{}', type: 'garbage' }),
      /accepted media types include: application\/json-patch\+json/,
    ],
    [
      'an integer beyond 2^53',
      400,
      'BadRequest',
      post('{"spec": {"a": -9007199254740993}}', 'application/json'),
      /1:16: this integer is too large to be kept exactly; quote it/,
    ],
    [
      'a power of two beyond 2^53',
      400,
      'BadRequest',
      post('{"a":18014398509481984}', 'application/json'),
      /1:6: this integer is too large/,
    ],
    [
      'a timeout without a unit',
      400,
      'BadRequest',
      call('GET', `${teams}?timeout=5`),
      /invalid timeout specified in the request URL - time: missing unit in duration "5"/,
    ],
    [
      'a timeout that is no duration',
      400,
      'BadRequest',
      call('DELETE', `${teams}/absent?timeout=x`),
      /invalid timeout specified in the request URL - time: invalid duration "x"/,
    ],
    [
      'an unknown field of status',
      400,
      'BadRequest',
      post(team({ status: { conditions: [], x: 1 } })),
      /unknown field "status\.x"/,
    ],
    [
      'an unknown field of status in a merge patch',
      422,
      'Invalid',
      merge(payments, { status: { conditions: [{ type: 'A', typ: 'A' }] } }),
      /unknown field "status\.conditions\[0\]\.typ"/,
    ],
    // covers: envelope.kind.immutable
    [
      'a kind that is a map, by a JSON patch',
      422,
      'Invalid',
      patch([{ op: 'copy', from: '/spec', path: '/kind' }]),
      /^Team\.management\.gitplane\.dev "payments" is invalid: kind: Invalid value: .*must be Team/,
      { group: GROUP, kind: 'Team', name: 'payments' },
    ],
    [
      'an apply with the uid of an object that is not there',
      409,
      'Conflict',
      call('PATCH', `${teams}/zz-error?fieldManager=x`, {
        body: team({}, { uid: '8a0b9ff6-0000-4000-8000-000000000000' }),
        type: 'application/apply-patch+yaml',
      }),
      /uid mismatch: the provided object specified uid 8a0b9ff6.*no existing object was found/,
    ],
    ['no body', 400, 'BadRequest', post(undefined), /no body/],
    // covers: envelope.apiVersion versioning.unrecognized
    [
      'another version',
      400,
      'BadRequest',
      post(team({ apiVersion: `${GROUP}/v2` })),
      /the API version in the data .*v2\) does not match the expected API version/,
    ],
    [
      'an unknown field',
      400,
      'BadRequest',
      post(team({ spec: { displayNam: 'x' } })),
      /unknown field "spec\.displayNam".*did you mean "displayName"/,
    ],
    [
      'a duplicate key',
      400,
      'BadRequest',
      post('{"metadata":{"name":"a","name":"b"}}', 'application/json'),
      /duplicate field "metadata\.name"/,
    ],
    // covers: metadata.resourceVersion
    [
      'a resourceVersion in a create',
      400,
      'BadRequest',
      post(team({}, { resourceVersion: '1' })),
      /resourceVersion should not be set on objects to be created/,
    ],
    // covers: metadata.name.immutable
    [
      'another name than the URL',
      400,
      'BadRequest',
      call('PUT', payments, { body: team() }),
      /the name of the object \(zz-error\) does not match the name on the URL \(payments\)/,
    ],
    // covers: metadata.namespace.immutable
    [
      'another namespace than the URL',
      400,
      'BadRequest',
      call('POST', secrets, { body: { metadata: { name: 'a', namespace: 'b' } } }),
      /the namespace of the provided object does not match/,
    ],
    [
      'a bad label selector',
      400,
      'BadRequest',
      call('GET', `${teams}?labelSelector=a%20b`),
      /unable to parse|found/,
    ],
    [
      'an unknown field selector',
      400,
      'BadRequest',
      call('GET', `${teams}?fieldSelector=spec.x%3D1`),
      /field label not supported: spec\.x/,
    ],
    // covers: metadata.annotations
    [
      'a selection by an annotation',
      400,
      'BadRequest',
      call('GET', `${teams}?fieldSelector=metadata.annotations.a%3Db`),
      /field label not supported: metadata\.annotations\.a/,
    ],
    [
      'a bad resourceVersion',
      400,
      'BadRequest',
      call('GET', `${teams}?resourceVersion=abc`),
      /invalid resource version/,
    ],
    ['a bad continue token', 400, 'BadRequest', call('GET', `${teams}?continue=abc`), /continue/],
    ['a merge patch that is a list', 400, 'BadRequest', merge(payments, []), /must be a map/],
    // covers: authentication.required
    ['no key', 401, 'Unauthorized', call('GET', teams, { token: null }), /^Unauthorized$/],
    // covers: authentication.bearer
    [
      'a wrong key',
      401,
      'Unauthorized',
      call('GET', teams, { token: 'nonsense' }),
      /^Unauthorized$/,
    ],
    [
      'no object',
      404,
      'NotFound',
      call('GET', `${teams}/nobody`),
      /^teams\.management\.gitplane\.dev "nobody" not found$/,
      { ...about, name: 'nobody' },
    ],
    [
      'a PUT of nothing',
      404,
      'NotFound',
      call('PUT', `${teams}/zz-error`, { body: team() }),
      /not found$/,
    ],
    ['a PATCH of nothing', 404, 'NotFound', merge(`${teams}/zz-error`, {}), /not found$/],
    ['a DELETE of nothing', 404, 'NotFound', call('DELETE', `${teams}/zz-error`), /not found$/],
    // covers: versioning.path
    [
      'an unknown resource',
      404,
      'NotFound',
      call('GET', `${API}/unicorns`),
      /could not find the requested resource/,
    ],
    // covers: SharedSecret.namespaced
    [
      'a namespaced create without namespace',
      404,
      'NotFound',
      call('POST', `${API}/sharedsecrets`, { body: {} }),
      /could not find the requested resource/,
    ],
    // covers: metadata.namespace.none Team.notNamespaced
    [
      'a namespace where there is none',
      404,
      'NotFound',
      call('GET', `${API}/namespaces/x/teams`),
      /could not find the requested resource/,
    ],
    [
      'a subresource that nobody has',
      404,
      'NotFound',
      call('GET', `${payments}/scale`),
      /"payments" not found/,
    ],
    [
      'a POST to an object',
      405,
      'MethodNotAllowed',
      call('POST', payments, { body: team() }),
      /not supported/,
      about,
    ],
    [
      'a form that nobody can make',
      406,
      'NotAcceptable',
      call('GET', teams, { headers: { accept: 'text/html' } }),
      /only the following media types are accepted: application\/json, application\/yaml/,
    ],
    [
      'a watch as HTML',
      406,
      'NotAcceptable',
      call('GET', `${teams}?watch=1`, { headers: { accept: 'text/html' } }),
      /only the following/,
    ],
    // covers: metadata.name.unique
    [
      'a name that is taken',
      409,
      'AlreadyExists',
      post(team({}, { name: 'payments' })),
      /^teams\.management\.gitplane\.dev "payments" already exists$/,
      { ...about, name: 'payments' },
    ],
    // covers: metadata.resourceVersion.concurrency
    [
      'a stale resourceVersion',
      409,
      'Conflict',
      call('PUT', payments, { body: team({}, { name: 'payments', resourceVersion: '1' }) }),
      /^Operation cannot be fulfilled on teams\.management\.gitplane\.dev "payments": the object has been modified; please apply your changes to the latest version and try again$/,
      { ...about, name: 'payments' },
    ],
    // covers: metadata.uid.immutable
    [
      'another uid in a patch',
      422,
      'Invalid',
      merge(payments, { metadata: { uid: 'x' } }),
      /metadata\.uid: Invalid value: "x": field is immutable/,
    ],
    [
      'a body of 4 MiB',
      413,
      'RequestEntityTooLarge',
      call('POST', teams, { headers: { 'content-length': String(4 << 20) } }),
      /limit is 3145728/,
    ],
    [
      'a patch of 10001 operations',
      413,
      'RequestEntityTooLarge',
      patch(Array.from({ length: 10_001 }, () => ({ op: 'test', path: '', value: 1 }))),
      /10000, got 10001/,
    ],
    [
      'protobuf',
      415,
      'UnsupportedMediaType',
      post('x', 'application/vnd.kubernetes.protobuf'),
      /accepted media types include: application\/json, application\/yaml/,
    ],
    [
      'a patch without type',
      415,
      'UnsupportedMediaType',
      call('PATCH', payments, { body: '[]' }),
      /application\/json-patch\+json, application\/merge-patch\+json/,
    ],
    [
      'a strategic merge patch',
      415,
      'UnsupportedMediaType',
      call('PATCH', payments, { body: {}, type: 'application/strategic-merge-patch+json' }),
      /--type=merge/,
    ],
    // covers: envelope.kind
    [
      'a wrong kind',
      422,
      'Invalid',
      post(team({ kind: 'User' })),
      /kind: Invalid value: "User": must be Team/,
      { kind: 'User', group: GROUP },
    ],
    // covers: envelope.nameRequired metadata.name.required
    [
      'no name',
      422,
      'Invalid',
      post(team({}, { name: '' })),
      /metadata\.name: Required value: name or generateName is required/,
    ],
    [
      'a name with capitals',
      422,
      'Invalid',
      post(team({}, { name: 'A' })),
      /lowercase RFC 1123 subdomain/,
      {
        name: 'A',
        group: GROUP,
        kind: 'Team',
        causes: [{ reason: 'FieldValueInvalid', field: 'metadata.name' }],
      },
    ],
    [
      'two wrong fields',
      422,
      'Invalid',
      post(team({ spec: { users: 'ada', displayName: 1 } })),
      /spec\.displayName: .*/,
      {
        causes: expect.arrayContaining([
          expect.objectContaining({ field: 'spec.displayName' }),
          expect.objectContaining({ field: 'spec.users' }),
        ]),
      },
    ],
    [
      'a failed test',
      422,
      'Invalid',
      patch([{ op: 'test', path: '/spec/displayName', value: 'x' }]),
      /the server rejected our request due to an error in our request/,
    ],
    [
      'a missing parent',
      422,
      'Invalid',
      patch([{ op: 'add', path: '/metadata/annotations/a', value: 'x' }]),
      /the server rejected our request/,
    ],
    [
      'an unknown field in a patch',
      422,
      'Invalid',
      merge(payments, { spec: { nope: 1 } }),
      /patch: Invalid value.*unknown field "spec\.nope"/,
      { causes: [{ field: 'patch' }] },
    ],
    // covers: endpoints.sharedsecrets.PUT.resourceVersion
    [
      'a PUT of a secret without resourceVersion',
      422,
      'Invalid',
      call('PUT', `${API}/namespaces/payments/sharedsecrets/registry`, {
        body: { metadata: { name: 'registry' } },
      }),
      /metadata\.resourceVersion: Invalid value: 0: must be specified for an update/,
    ],
    [
      'an unknown dryRun',
      422,
      'Invalid',
      call('DELETE', `${payments}?dryRun=Some`),
      /dryRun/,
      { kind: 'DeleteOptions', group: 'meta.k8s.io' },
    ],
    [
      'a forced merge patch',
      422,
      'Invalid',
      merge(`${payments}?force=true`, {}),
      /force: Forbidden: may not be specified for non-apply patch/,
    ],
    [
      'a match without version',
      422,
      'Invalid',
      call('GET', `${teams}?resourceVersionMatch=Exact`),
      /resourceVersionMatch is forbidden unless resourceVersion is provided/,
      { kind: 'ListOptions' },
    ],
  ])('%s is %i %s', async (_title, code, reason, send, message, details) => {
    const before = (await daemon.call('GET', payments)).text;
    const answer = await send();
    const status = answer.json();
    expect({
      code: answer.code,
      reason: status.reason,
      body: status.code,
      text: answer.text,
    }).toEqual({
      code,
      reason,
      body: code,
      text: answer.text,
    });
    expect(status).toMatchObject({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      metadata: {},
    });
    expect(status.message).toMatch(message);
    if (details !== undefined) expect(status.details).toMatchObject(details);
    expect(answer.headers['content-type']).toBe('application/json');
    expect((await daemon.call('GET', payments)).text).toBe(before);
  });

  test('a version far ahead is 504 with a reason to try again', async () => {
    const answer = await daemon.call('GET', `${teams}?resourceVersion=99999999999999999`);
    expect(answer.code).toBe(504);
    expect(answer.json()).toMatchObject({
      reason: 'Timeout',
      details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
    });
  });

  test('an exact list older than the journal is 410', async () => {
    const answer = await daemon.call(
      'GET',
      `${teams}?resourceVersion=1&resourceVersionMatch=Exact`,
    );
    expect([answer.code, answer.json()]).toMatchObject([
      410,
      { reason: 'Expired', message: 'The resourceVersion for the provided list is too old.' },
    ]);
  });

  test('a path outside the API is plain 404', async () => {
    const answer = await daemon.call('GET', '/nowhere');
    expect([answer.code, answer.text]).toEqual([404, '404 page not found\n']);
  });
});

describe('Warning headers', () => {
  const teams = `${API}/teams?fieldValidation=Warn`;
  const payments = `${API}/teams/payments?fieldValidation=Warn`;
  const sent = (name: string, spec: object) => ({ metadata: { name }, spec });
  const merge = (spec: object) => ({ type: MERGE_PATCH, body: { spec } });

  test.each<[string, number, () => Promise<Answer>]>([
    ['invalid', 422, () => daemon.call('POST', teams, { body: sent('BAD', { nosuch: 1 }) })],
    ['there', 409, () => daemon.call('POST', teams, { body: sent('payments', { nosuch: 1 }) })],
    [
      'a patch that is invalid',
      422,
      () => daemon.call('PATCH', payments, merge({ nosuch: 1, users: 7 })),
    ],
  ])('come with the error for an object that is %s', async (_title, code, write) => {
    const answer = await write();
    expect(answer.code, answer.text).toBe(code);
    expect(String(answer.headers['warning'])).toContain('299 - "unknown field \\"spec.nosuch\\"');
  });
});

describe('a key that does not work', () => {
  test.each([
    ['/api', 401],
    ['/apis', 401],
    ['/apis/management.gitplane.dev/v1', 401],
    ['/openapi/v2', 401],
    ['/openapi/v3', 401],
    ['/version', 401],
    ['/livez', 200],
  ])('GET %s answers %i, and 200 without a key', async (path, code) => {
    const url = `/kubernetes/management${path}`;
    expect((await daemon.call('GET', url, { token: 'gpo_no-such-key' })).code).toBe(code);
    expect((await daemon.call('GET', url, { token: null })).code).toBe(200);
  });
});

test('a dry run of a deletion shows an object that is held as terminating', async () => {
  const metadata = { name: 'zz-held', finalizers: ['example.com/hold'] };
  await daemon.call('POST', `${API}/teams`, { body: { metadata, spec: {} } });
  const url = `${API}/teams/zz-held`;
  const tried = await daemon.call('DELETE', `${url}?dryRun=All`);
  expect(tried.code).toBe(200);
  expect(tried.json()).toMatchObject({
    kind: 'Team',
    metadata: { name: 'zz-held', deletionTimestamp: expect.any(String), generation: 2 },
  });
  const { metadata: after } = (await daemon.call('GET', url)).json();
  expect(after).toMatchObject({ generation: 1 });
  expect(after).not.toHaveProperty('deletionTimestamp');
});

test('discovery has the hash of the version that each kind is stored in', async () => {
  const { resources } = (await daemon.call('GET', API)).json();
  const hashes = new Map<string, string>(
    resources.map((one: { name: string; storageVersionHash?: string }) => [
      one.name,
      one.storageVersionHash,
    ]),
  );
  const digest = createHash('sha256').update(`${GROUP}/v1/Team`).digest();
  expect(hashes.get('teams')).toBe(digest.subarray(0, 8).toString('base64'));
  expect(hashes.get('teams/history')).toBeUndefined();
});
