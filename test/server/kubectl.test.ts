/** Real kubectl binaries judge the documents: discovery, OpenAPI, tables. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import { notFound, StatusError } from '../../src/apimachinery/status-error.ts';
import { openApiSchema } from '../../src/kinds/schema/openapi-schema.ts';
import { buildDiscovery } from '../../src/server/documents/discovery.ts';
import { encodeOpenApiV2 } from '../../src/server/documents/gnostic.ts';
import { buildOpenApi } from '../../src/server/documents/openapi.ts';
import { buildOpenApiV2, openApiV2 } from '../../src/server/documents/openapi-v2.ts';
import { versionDocument } from '../../src/server/documents/version.ts';
import { decodeBody } from '../../src/server/input/body.ts';
import { parseRequest, type ResourceInfo } from '../../src/server/input/request-info.ts';
import { bodyOf } from '../../src/server/output/answer.ts';
import { negotiate, negotiateOpenApiV2 } from '../../src/server/output/negotiation.ts';
import {
  type Encoded,
  encodeDocument,
  encodeList,
  encodeObject,
  readyObject,
} from '../../src/server/output/representation.ts';
import { parseIncludeObject } from '../../src/server/output/table.ts';
import { findKubectl, startTestServer, type TestServer } from './kubectl-server.ts';
import { GROUP, kindNamed, kinds, NOW, team } from './sample-objects.ts';

const ROOT = '/kubernetes/management';
const options = { root: ROOT, version: '0.1.0', serverSideApply: false };
const discovery = buildDiscovery(kinds, [
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    resources: [
      {
        name: 'selfsubjectaccessreviews',
        singularName: 'selfsubjectaccessreview',
        namespaced: false,
        kind: 'SelfSubjectAccessReview',
        verbs: ['create'],
      },
    ],
  },
]);
const v3 = buildOpenApi(kinds, options);
const v2 = buildOpenApiV2(kinds, options);

/** What the server of a test leaves out or changes. */
interface Deviation {
  readonly legacyDiscovery?: boolean;
  readonly noV3?: boolean;
  readonly v2?: Buffer;
}

let deviation: Deviation = {};
let server: TestServer;
/** The bodies of creates and the types of patches. */
let written: unknown[] = [];

interface Reply extends Encoded {
  readonly code?: number;
}

function document(path: string, request: IncomingMessage): Reply | undefined {
  const accept = deviation.legacyDiscovery ? 'application/json' : request.headers.accept;
  const [, first, group = '', version] = path.split('/');
  switch (first) {
    case 'version': {
      const build = { version: '0.1.0', nodeVersion: 'v20', platform: 'linux/amd64' };
      return encodeDocument(versionDocument(build), {
        mediaType: 'application/json',
        pretty: false,
      });
    }
    case 'api':
      return group === ''
        ? discovery.api(accept)
        : discovery.resources({ group: '', version: group }, accept);
    case 'apis':
      if (group === '') return discovery.apis(accept);
      if (version === undefined) return discovery.group(group, accept);
      return discovery.resources({ group, version }, accept);
    case 'openapi':
      return openApi(path.slice('/openapi/'.length), request);
    default:
      return undefined;
  }
}

function openApi(path: string, request: IncomingMessage): Reply | undefined {
  if (path === 'v2') {
    const ready = v2(negotiateOpenApiV2(request.headers.accept));
    return deviation.v2 === undefined ? ready : { ...ready, body: deviation.v2 };
  }
  if (deviation.noV3) return undefined;
  return path === 'v3' ? v3.index() : v3.document(path.slice('v3/'.length));
}

function resource(info: ResourceInfo, request: IncomingMessage, body: string): Reply {
  const kind = kinds.byPlural(info.group, info.resource);
  if (kind === undefined) throw notFound(kindNamed('Team'), info.name);
  const wish = { accept: request.headers.accept, userAgent: 'kubectl', query: info.query };
  const isList = info.verb === 'list';
  const form = {
    ...negotiate(wish, isList ? 'list' : 'object'),
    includeObject: parseIncludeObject(info.query),
    now: NOW,
  };
  const ops = readyObject({ ...team('ops'), kind: kind.kind, apiVersion: `${kind.group}/v1` });
  if (info.verb === 'create') {
    written.push(JSON.parse(body));
    return { code: 201, ...encodeObject(kind, ops, form) };
  }
  if (info.verb === 'patch') written.push(request.headers['content-type']);
  if (isList) {
    return encodeList(kind, { metadata: { resourceVersion: '50' }, items: [ops] }, form);
  }
  if (info.name !== 'ops') throw notFound(kind, info.name);
  return encodeObject(kind, ops, form);
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const info = parseRequest({ method: request.method ?? '', url: request.url ?? '', root: ROOT });
    let reply: Reply | undefined;
    try {
      reply = info?.isResource
        ? resource(info, request, Buffer.concat(chunks).toString())
        : document(info?.path ?? '', request);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      const status = { mediaType: 'application/json', pretty: false } as const;
      reply = { code: error.code, ...encodeDocument(error.toStatus(), status) };
    }
    response.writeHead(reply === undefined ? 404 : (reply.code ?? 200), {
      'content-type': reply?.contentType ?? 'text/plain',
    });
    response.end(reply === undefined ? '404 page not found\n' : bodyOf(reply));
  });
}

beforeAll(async () => {
  server = await startTestServer(ROOT, answer);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const MINORS = [27, 28, 29, 30, 31, 32, 33];
const binaries = MINORS.flatMap((minor) => {
  const path = findKubectl(minor);
  // biome-ignore lint/suspicious/noConsole: a judge that is missing must not go unnoticed
  if (path === undefined) console.warn(`kubectl.1.${minor} was not found: its tests are skipped`);
  return path === undefined ? [] : [{ minor, path }];
});

const TEAM_YAML = `apiVersion: ${GROUP}/v1
kind: Team
metadata:
  name: ops
spec:
  displayName: The ops
  users: [ada]
`;
const WRONG_YAML = `${TEAM_YAML}  displayNam: typo\n`;

test.skipIf(binaries.length === 0)('kubectl is installed', () => {
  expect(binaries.length).toBeGreaterThan(0);
});

describe.each(binaries)('kubectl 1.$minor', ({ minor, path }) => {
  const kubectl = async (args: string[], stdin?: string, deviate: Deviation = {}) => {
    deviation = deviate;
    written = [];
    server.takeRequests();
    return { ...(await server.kubectl(path, args, stdin)), requests: server.takeRequests() };
  };

  test.each([[{}], [{ legacyDiscovery: true }]])('lists every resource once (%j)', async (how) => {
    const { code, stdout, stderr, requests } = await kubectl(
      ['api-resources', '--no-headers'],
      '',
      how,
    );
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const names = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/)[0]);
    expect(names.toSorted()).toEqual(
      [...kinds.kinds.map(({ plural }) => plural), 'selfsubjectaccessreviews'].toSorted(),
    );
    const legacy = requests.some((line) => line.includes(`/apis/${GROUP}/v1`));
    expect(legacy).toBe('legacyDiscovery' in how);
    expect(stdout).toMatch(new RegExp(`teams +tm +${GROUP}/v1 +false +Team`));
    expect(stdout).toMatch(new RegExp(`sharedsecrets .*${GROUP}/v1 +true +SharedSecret`));
  });

  test('prints tables, by short name and singular', async () => {
    const { stdout, stderr } = await kubectl(['get', 'tm']);
    expect(stderr).toBe('');
    expect(stdout).toMatch(
      /^NAME +DISPLAY NAME +USERS +HEALTH +AGE\nops +The ops +2 +Ready +4m30s\n$/,
    );
    expect((await kubectl(['get', 'team', 'ops', '-o', 'wide'])).stdout).toMatch(/^NAME .*GROUPS/);
    expect((await kubectl(['get', 'teams', '--show-labels'])).stdout).toContain('tier=one');
    expect((await kubectl(['get', 'config', '-o', 'name'])).stdout).toBe(`config.${GROUP}/ops\n`);
  });

  test('names the missing part', async () => {
    const { code, stderr } = await kubectl(['get', 'team', 'nobody']);
    expect(code).toBe(1);
    expect(stderr).toBe(`Error from server (NotFound): teams.${GROUP} "nobody" not found\n`);
  });

  test('reads the version', async () => {
    const { code, stdout } = await kubectl(['version']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/Server Version: .*v1\.32\.0\+gitplane\.0\.1\.0/);
  });

  test.each(kinds.kinds.map(({ plural, group, kind }) => [kind, `${plural}.${group}`]))(
    'explains %s with every field',
    async (kind, name) => {
      const { code, stdout, stderr } = await kubectl(['explain', name, '--recursive']);
      expect(stderr).toBe('');
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`KIND: +${kind}\n`));
      const shown = new Set(stdout.match(/^ +[\w$-]+/gm)?.map((field) => field.trim()));
      const { schema } = kindNamed(kind);
      expect([...fieldsOf(openApiSchema(schema))].filter((field) => !shown.has(field))).toEqual([]);
    },
  );

  test('explains one field', async () => {
    const { stdout } = await kubectl(['explain', 'team.spec.users']);
    expect(stdout).toMatch(/FIELD: +users <\[\]string>/);
    expect(stdout).toContain('Names of the users who are in the team.');
    const owner = await kubectl(['explain', 'team.metadata.ownerReferences.uid']);
    expect(owner.stdout).toMatch(/FIELD: +uid <string>/);
  });

  test('creates, and leaves validation to the server', async () => {
    const { code, stdout, stderr, requests } = await kubectl(['create', '-f', '-'], WRONG_YAML);
    expect(stderr).toBe('');
    expect(stdout).toBe(`team.${GROUP}/ops created\n`);
    expect(code).toBe(0);
    expect(requests.at(-1)).toContain('fieldValidation=Strict');
    expect(written).toEqual([expect.objectContaining({ kind: 'Team' })]);
    const document = minor >= 29 ? `/openapi/v3/apis/${GROUP}/v1?hash=` : '/openapi/v2?';
    expect(requests.some((line) => line.includes(document))).toBe(true);
  });

  test('a dry run of the client fetches what it validates with', async () => {
    const { code, stdout } = await kubectl(
      ['create', '--dry-run=client', '--validate=strict', '-f', '-'],
      TEAM_YAML,
    );
    expect(stdout).toBe(`team.${GROUP}/ops created (dry run)\n`);
    expect(code).toBe(0);
  });

  test('validates by itself when the server does not, and knows every field', async () => {
    const alone: Deviation = { noV3: true, v2: encodeOpenApiV2(withoutFieldValidation()) };
    const create = (yaml: string) =>
      kubectl(['create', '--dry-run=client', '--validate=strict', '-f', '-'], yaml, alone);
    expect((await create(TEAM_YAML)).stdout).toBe(`team.${GROUP}/ops created (dry run)\n`);
    const unknown = await create(WRONG_YAML);
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toMatch(/unknown field "displayNam" in .*\.Team\.spec/);
    const wrong = await create(TEAM_YAML.replace('[ada]', 'ada'));
    expect(wrong.stderr).toMatch(
      /invalid type for .*Team\.spec\.users: got "string", expected "array"/,
    );
  });

  test('patches as custom resources are patched', async () => {
    const { stderr, requests } = await kubectl(['apply', '-f', '-'], TEAM_YAML);
    expect(stderr).not.toContain('strategic');
    expect(requests.some((line) => line.startsWith('GET') && line.includes('/teams/ops'))).toBe(
      true,
    );
    expect(requests.filter((line) => line.startsWith('PATCH'))).toHaveLength(1);
    expect(written).toEqual(['application/merge-patch+json']);
  });
});

describe.each(binaries.slice(-1))('YAML as kubectl 1.$minor reads it', ({ path }) => {
  const scalars = [
    ...[
      'yes',
      'Yes',
      'YES',
      'yEs',
      'no',
      'on',
      'Off',
      'y',
      'Y',
      'n',
      'N',
      'true',
      'FALSE',
      '"yes"',
    ],
    ...['~', 'null', 'Null', 'nULL', '""', '!!str 5', "'5'"],
    ...['1', '-1', '+1', '007', '08', '0o17', '0x1F', '0b101', '1_000', '-0', '0_7', '1__0', '0x'],
    ...['1.5', '.5', '1.', '1e3', '1.5E-2', '-.5', '._5', '1.2.3', '1:30', '12:30:45', '1e', 'e5'],
    ...['2001-12-14', '2001-12-14t21:59:43.10-05:00', '=', '.', '..', 'a:b'],
    ...[
      '|\n    x\n     y\n',
      '>\n    a\n    b\n\n    c\n',
      '"a\\tb\\u00e9"',
      "'it''s'",
      '[1, yes, a]',
      '{a: n}',
    ],
  ];

  const yaml = (scalar: string) => `${TEAM_YAML}  description: ${scalar}\n`;
  const specOf = (value: unknown) => (value as { spec: object }).spec;

  test('every scalar means the same here', async () => {
    deviation = {};
    const flags = ['--dry-run=client', '--validate=false', '-o', 'json'];
    const stdin = scalars.map(yaml).join('---\n');
    const { stdout, stderr } = await server.kubectl(path, ['create', ...flags, '-f', '-'], stdin);
    expect(stderr).toBe('');
    const documents = stdout.trim().split(/(?<=^\})\n/m);
    const theirs = documents.map((text) => specOf(JSON.parse(text)));
    expect(theirs).toHaveLength(scalars.length);
    const mine = scalars.map((scalar) => decodeBody(Buffer.from(yaml(scalar)), 'yaml').value);
    expect(mine.map(specOf)).toEqual(theirs);
  });
});

/** The names of all fields, at any depth. */
function* fieldsOf(schema: JsonObject): Generator<string> {
  const { properties, items, additionalProperties } = schema;
  for (const [name, field] of Object.entries((properties ?? {}) as Record<string, JsonObject>)) {
    yield name;
    yield* fieldsOf(field);
  }
  for (const inner of [items, additionalProperties]) {
    if (typeof inner === 'object') yield* fieldsOf(inner as JsonObject);
  }
}

function withoutFieldValidation(): JsonObject {
  const text = JSON.stringify(openApiV2(kinds, options));
  return JSON.parse(text.replaceAll('"name":"fieldValidation"', '"name":"other"')) as JsonObject;
}
