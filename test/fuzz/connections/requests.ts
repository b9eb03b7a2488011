/** Random requests of HTTP/1.1 as bytes: whole ones, and ones that no library sends. */
import { gzipSync } from 'node:zlib';
import { API, RBAC } from '../../support/daemon.ts';
import type { Random } from '../../support/random.ts';

export interface World {
  readonly token: string;
  /** Newest commit of the branch. */
  readonly head: string;
}

export interface Asked {
  readonly method: string;
  readonly bytes: Buffer;
}

const GIT = '/git/platform.git';
const [SECRETS, NAME] = [`${API}/namespaces/payments/sharedsecrets`, 'fuzz'];
const READS = [
  ...[
    '/livez',
    '/readyz',
    '/version',
    '/metrics',
    '/openapi/v3',
    '/summary',
    '/branches',
    '/costs',
  ],
  ...[
    '/search?q=a',
    '/commits',
    '/audit/events',
    '/compare',
    '/console',
    '/login',
    '/auth/session',
  ],
  ...[`${API}/teams`, `${API}/teams?limit=1`, `${API}/teams/storefront`, `${API}/users`, SECRETS],
  ...[
    `${RBAC}/clusterroles`,
    '/kubernetes/management/apis',
    '/nowhere',
    '/hooks/x',
    '/auth/x/callback',
  ],
  ...[
    '/kubernetes/cluster/none/api/v1/pods?watch=1',
    '/auth/link?code=x',
    `${API}/teams/storefront/history`,
  ],
  `${API}/teams?watch=1&timeoutSeconds=1`,
  `${SECRETS}?watch=1&timeoutSeconds=1&resourceVersion=0`,
  `${GIT}/info/refs?service=git-upload-pack`,
  `${GIT}/info/refs?service=git-receive-pack`,
];
/** Go on until their client goes. */
const ENDLESS = [`${API}/teams?watch=1`, `${SECRETS}?watch=1&resourceVersion=0`];
const TEAM = JSON.stringify({
  apiVersion: 'management.gitplane.dev/v1',
  kind: 'Team',
  metadata: { generateName: 'fuzz-' },
  spec: {},
});
const FORM = 'application/x-www-form-urlencoded';
const JSON_BODY = 'application/json';

interface Write {
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly body: Buffer | string;
}

function writes({ head }: World): readonly Write[] {
  const want = `0032want ${head}\n00000009done\n`;
  const pack = (service: string) => `application/x-git-${service}-request`;
  return [
    { method: 'POST', path: `${API}/teams?dryRun=All`, type: JSON_BODY, body: TEAM },
    { method: 'POST', path: `${API}/teams`, type: JSON_BODY, body: TEAM },
    { method: 'PUT', path: `${API}/teams/storefront`, type: JSON_BODY, body: TEAM },
    ...['merge-patch', 'apply-patch', 'json-patch'].map((patch) => ({
      ...{ method: 'PATCH', path: `${API}/teams/storefront?fieldManager=${NAME}` },
      ...{ type: `application/${patch}+json`, body: '{"metadata":{"labels":{"fuzz":"a"}}}' },
    })),
    { method: 'DELETE', path: `${API}/teams/none`, type: JSON_BODY, body: '{}' },
    { method: 'DELETE', path: `${API}/teams?labelSelector=none`, type: JSON_BODY, body: '{}' },
    { method: 'POST', path: '/plan', type: JSON_BODY, body: `{"revision":"${head}"}` },
    { method: 'POST', path: '/auth/token', type: JSON_BODY, body: '{}' },
    { method: 'POST', path: '/auth/device', type: FORM, body: 'client_id=x' },
    { method: 'POST', path: '/auth/password', type: FORM, body: 'username=x&password=y' },
    { method: 'POST', path: '/hooks/x', type: JSON_BODY, body: '{}' },
    { method: 'POST', path: `${GIT}/git-upload-pack`, type: pack('upload-pack'), body: want },
    { method: 'POST', path: `${GIT}/git-upload-pack`, type: pack('upload-pack'), body: '0000' },
    { method: 'POST', path: `${GIT}/git-receive-pack`, type: pack('receive-pack'), body: '0000' },
    {
      ...{ method: 'POST', path: `${GIT}/git-receive-pack`, type: pack('receive-pack') },
      body: `0067${head} ${'1'.repeat(40)} refs/heads/fuzz\0 report-status\n0000PACK`,
    },
  ];
}

const UPGRADES = [
  [
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
  ],
  ['upgrade: websocket', 'sec-websocket-version: 12', 'sec-websocket-key: x'],
  ['upgrade: h2c', 'http2-settings: AAMAAABkAARAAAAAAAIAAAAA'],
  ['upgrade: SPDY/3.1'],
];
/** Frames of a client: valid, too large, reserved bits, close, a masked text, half a head. */
const FRAMES = [
  '8180000000 00',
  '89feffff',
  'ffffffff',
  '8880000000 00',
  '818500000000 68656c6c6f',
  '81',
].map((hex) => Buffer.from(hex.replace(' ', ''), 'hex'));
const ODD_HEADERS = [
  ...['expect: 100-continue', 'expect: x', 'transfer-encoding: gzip', 'transfer-encoding: chunked'],
  ...[
    'transfer-encoding: gzip, chunked',
    'transfer-encoding: chunked, chunked',
    'content-length: 5',
  ],
  ...['content-length: 99999', 'content-length: -1', 'content-encoding: gzip', 'trailer: x'],
  ...[
    'connection: close',
    'host: other',
    'te: trailers',
    `x: ${'y'.repeat(20_000)}`,
    'range: bytes=0-',
  ],
  ...['content-length: 5\r\ntransfer-encoding: chunked', ' folded', 'no colon', 'cookie: a=b; c'],
];
const ODD_BODIES = [
  ...[
    '',
    'hello',
    '5\r\nhello\r\n',
    '5\r\nhello\r\n0\r\n\r\n',
    'zz\r\n',
    '0\r\nx: y\r\n\r\n',
    '[',
    TEAM,
  ],
].map((text) => Buffer.from(text));
const ODD_LINES = [
  'CONNECT a:1',
  'PRI *',
  'TRACE /livez',
  'OPTIONS *',
  'GET http://a/livez',
  'GET /%',
  'PURGE /a',
];

export function randomRequest(world: World, random: Random): Asked {
  const kind = random.next();
  if (kind < 0.4) return read(world, random);
  if (kind < 0.6) return write(world, random);
  if (kind < 0.75) return upgrade(world, random);
  return odd(world, random);
}

/** A request that is answered before the connection is used on. */
export function wholeRequest(world: World, random: Random): Asked {
  return random.chance(0.7) ? read(world, random, READS) : write(world, random);
}

function head(world: World, random: Random, line: string, more: readonly string[]): string {
  const headers = ['host: x', ...more];
  const basic = Buffer.from(`x:${world.token}`).toString('base64');
  if (line.includes(GIT)) headers.push(`authorization: Basic ${basic}`);
  else if (random.chance(0.7)) headers.push(`authorization: Bearer ${world.token}`);
  if (random.chance(0.2)) headers.push('accept-encoding: gzip');
  if (random.chance(0.1)) headers.push('accept: application/json;as=Table;v=v1;g=meta.k8s.io');
  if (random.chance(0.1)) headers.push('git-protocol: version=2');
  return `${[`${line} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`;
}

function read(world: World, random: Random, paths = [...READS, ...ENDLESS]): Asked {
  const method = random.chance(0.1) ? random.pick(['HEAD', 'OPTIONS']) : 'GET';
  const path = random.pick(paths);
  const bytes = Buffer.from(head(world, random, `${method} ${path}`, []));
  return { method, bytes };
}

function write(world: World, random: Random): Asked {
  const { method, path, type, body: plain } = random.pick(writes(world));
  const isPacked = random.chance(0.1);
  const body = isPacked ? gzipSync(plain) : Buffer.from(plain);
  const headers = [`content-type: ${type}`, ...(isPacked ? ['content-encoding: gzip'] : [])];
  const isChunked = random.chance(0.3);
  headers.push(isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`);
  if (random.chance(0.1)) headers.push('expect: 100-continue');
  const bytes: Buffer[] = [Buffer.from(head(world, random, `${method} ${path}`, headers)), body];
  if (isChunked) bytes.splice(1, 1, chunked(body, random));
  return { method, bytes: Buffer.concat(bytes) };
}

function chunked(body: Buffer, random: Random): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const part = body.subarray(at, at + 1 + random.below(body.length));
    at += part.length;
    const extension = random.chance(0.1) ? ';a=b' : '';
    parts.push(
      Buffer.from(`${part.length.toString(16)}${extension}\r\n`),
      part,
      Buffer.from('\r\n'),
    );
  }
  const trailers = random.chance(0.1) ? 'x: y\r\n' : '';
  return Buffer.concat([...parts, Buffer.from(`0\r\n${trailers}\r\n`)]);
}

function upgrade(world: World, random: Random): Asked {
  const method = random.chance(0.1) ? 'POST' : 'GET';
  const headers = ['connection: upgrade', ...random.pick(UPGRADES)];
  const line = `${method} ${random.pick([...ENDLESS, ...READS])}`;
  const frames = Array.from({ length: random.below(4) }, () => random.pick(FRAMES));
  const bytes = Buffer.concat([Buffer.from(head(world, random, line, headers)), ...frames]);
  return { method, bytes };
}

function odd(world: World, random: Random): Asked {
  const line = random.chance(0.2) ? random.pick(ODD_LINES) : `GET ${random.pick(READS)}`;
  const headers = Array.from({ length: random.below(3) }, () => random.pick(ODD_HEADERS));
  const text = Buffer.from(head(world, random, line, headers));
  const bytes = Buffer.concat([text, random.pick(ODD_BODIES)]);
  return { method: 'GET', bytes };
}
