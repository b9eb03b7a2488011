/** Operations of documents about the daemon itself: settings, health, schemas, tokens, sessions. */
import {
  AUTH_INFO_PATH,
  OPENAPI_PATH,
  PLATFORM_SETTINGS_PATH,
  UI_SETTINGS_PATH,
} from '../../paths.ts';
import { JWKS_PATH, OPENID_PATH, REVOCATIONS_PATH, REVOKE_PATH } from '../tokens.ts';
import {
  type DocumentOperation,
  type UntaggedOperation as Part,
  plainText,
  tagged,
} from './operation.ts';
import { listOf, openObject, STATUS_SCHEMA, text } from './schema-parts.ts';

const SETTINGS: readonly Part[] = [
  {
    path: PLATFORM_SETTINGS_PATH,
    method: 'get',
    id: 'readPlatformSettings',
    description: 'Parts of the configuration that programs act on.',
    answers: { 200: 'PlatformSettings' },
  },
  {
    path: UI_SETTINGS_PATH,
    method: 'get',
    id: 'readUISettings',
    description: 'Look of user interfaces.',
    answers: { 200: 'UISettings' },
    isPublic: true,
  },
  {
    path: AUTH_INFO_PATH,
    method: 'get',
    id: 'readSignInInfo',
    description: 'Ways to sign in.',
    answers: { 200: 'SignInInfo' },
    isPublic: true,
  },
  {
    path: '/version',
    method: 'get',
    id: 'readVersion',
    description: 'Version. The configuration can ask for credentials.',
    answers: { 200: 'VersionInfo' },
    isPublic: true,
  },
];

const HEALTH: readonly Part[] = [
  ...['healthz', 'livez', 'readyz'].flatMap((name): readonly Part[] => [
    {
      path: `/${name}`,
      method: 'get',
      id: name,
      description: 'Health, as a status code and a text.',
      query: { verbose: text('Lists the checks.'), exclude: text('Check to leave out.') },
      answers: { 200: plainText('Healthy.'), 500: plainText('A check fails.') },
      isPublic: true,
    },
    {
      path: `/${name}/{check}`,
      method: 'get',
      id: `${name}Check`,
      description: 'Health by one check.',
      parts: { check: text('Name of the check.') },
      answers: { 200: plainText('Healthy.'), 500: plainText('The check fails.') },
      refusals: [404],
      isPublic: true,
    },
  ]),
  {
    path: '/metrics',
    method: 'get',
    id: 'readMetrics',
    description: 'Metrics in the format of Prometheus.',
    answers: { 200: plainText('Metrics.') },
  },
];

const DOCUMENTS: readonly Part[] = [
  {
    path: OPENAPI_PATH,
    method: 'get',
    id: 'readOpenApi',
    description: 'This document.',
    answers: { 200: openObject('An OpenAPI 3.0 document.') },
    isPublic: true,
  },
  {
    path: '/schemas',
    method: 'get',
    id: 'listSchemas',
    description: 'File names of the JSON schemas of manifests.',
    answers: { 200: listOf(text('Name.'), 'File names.') },
    isPublic: true,
  },
  {
    path: '/schemas/{name}.json',
    method: 'get',
    id: 'readSchema',
    description: 'JSON schema of a manifest, for editors.',
    parts: { name: text('Name of the schema.') },
    answers: {
      200: {
        description: 'OK',
        content: { 'application/schema+json': { schema: openObject('A JSON schema.') } },
      },
    },
    refusals: [404],
    isPublic: true,
  },
];

const TOKENS: readonly Part[] = [
  {
    path: JWKS_PATH,
    method: 'get',
    id: 'readTokenKeys',
    description: 'Public keys of endpoint tokens.',
    answers: { 200: 'JsonWebKeySet' },
    isPublic: true,
  },
  {
    path: OPENID_PATH,
    method: 'get',
    id: 'readTokenIssuer',
    description: 'Issuer of endpoint tokens.',
    answers: { 200: 'IssuerMetadata' },
    isPublic: true,
  },
  {
    path: REVOCATIONS_PATH,
    method: 'get',
    id: 'listRevocations',
    description: 'Revoked endpoint tokens.',
    answers: { 200: 'RevocationList' },
  },
  {
    path: REVOKE_PATH,
    method: 'post',
    id: 'revokeToken',
    description: 'Revokes an endpoint token (RFC 7009).',
    body: 'TokenToRevoke',
    answers: { 200: STATUS_SCHEMA },
    refusals: [400, 404],
  },
];

const own = { isPublic: true, isOwnRoute: true } as const;
const SESSION: readonly Part[] = [
  {
    path: '/auth/session',
    method: 'get',
    id: 'readSession',
    description: 'Session of the browser, by its cookie.',
    answers: { 200: 'SessionInfo' },
    refusals: [401],
    ...own,
  },
  {
    path: '/auth/token',
    method: 'post',
    id: 'checkKey',
    description: 'Holder and end of a key.',
    body: 'KeyToCheck',
    answers: { 200: 'SessionInfo' },
    refusals: [401, 429],
    ...own,
  },
  {
    path: '/auth/revoke',
    method: 'post',
    id: 'revokeKey',
    description: 'Ends a login key.',
    body: 'KeyToCheck',
    answers: { 200: 'KeyRevocation' },
    refusals: [401, 429],
    ...own,
  },
];

export const SERVICE_OPERATIONS: readonly DocumentOperation[] = [
  ...tagged('settings', SETTINGS),
  ...tagged('health', HEALTH),
  ...tagged('documents', DOCUMENTS),
  ...tagged('tokens', TOKENS),
  ...tagged('session', SESSION),
];
