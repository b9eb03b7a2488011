/** What a client reads when a request is refused: code, reason, message, details; nothing changes. */
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
    ['no body', 400, 'BadRequest', post(undefined), /no body/],
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
    [
      'a resourceVersion in a create',
      400,
      'BadRequest',
      post(team({}, { resourceVersion: '1' })),
      /resourceVersion should not be set on objects to be created/,
    ],
    [
      'another name than the URL',
      400,
      'BadRequest',
      call('PUT', payments, { body: team() }),
      /the name of the object \(zz-error\) does not match the name on the URL \(payments\)/,
    ],
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
    [
      'a bad resourceVersion',
      400,
      'BadRequest',
      call('GET', `${teams}?resourceVersion=abc`),
      /invalid resource version/,
    ],
    ['a bad continue token', 400, 'BadRequest', call('GET', `${teams}?continue=abc`), /continue/],
    ['a merge patch that is a list', 400, 'BadRequest', merge(payments, []), /must be a map/],
    ['no key', 401, 'Unauthorized', call('GET', teams, { token: null }), /^Unauthorized$/],
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
    [
      'an unknown resource',
      404,
      'NotFound',
      call('GET', `${API}/unicorns`),
      /could not find the requested resource/,
    ],
    [
      'a namespaced create without namespace',
      404,
      'NotFound',
      call('POST', `${API}/sharedsecrets`, { body: {} }),
      /could not find the requested resource/,
    ],
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
    [
      'a name that is taken',
      409,
      'AlreadyExists',
      post(team({}, { name: 'payments' })),
      /^teams\.management\.gitplane\.dev "payments" already exists$/,
      { ...about, name: 'payments' },
    ],
    [
      'a stale resourceVersion',
      409,
      'Conflict',
      call('PUT', payments, { body: team({}, { name: 'payments', resourceVersion: '1' }) }),
      /^Operation cannot be fulfilled on teams\.management\.gitplane\.dev "payments": the object has been modified; please apply your changes to the latest version and try again$/,
      { ...about, name: 'payments' },
    ],
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
    [
      'a wrong kind',
      422,
      'Invalid',
      post(team({ kind: 'User' })),
      /kind: Invalid value: "User": must be Team/,
      { kind: 'User', group: GROUP },
    ],
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
