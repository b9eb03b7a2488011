import { describe, expect, test } from 'vitest';
import {
  redactedMessage,
  redactedRequest,
  redactedResponse,
  redactedUrl,
} from '../../src/audit/redaction.ts';
import { kindOf } from '../support/platform.ts';

const SECRET = 'hunter2hunter2';

const shown = (plural: string | undefined, body: unknown): string =>
  JSON.stringify(redactedRequest(plural === undefined ? undefined : kindOf(plural), body));

const applied = {
  metadata: {
    name: 'visible',
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': SECRET },
  },
};

test('the preview of a dry run has neither secrets nor the text of the file', () => {
  const object = { spec: { displayName: 'visible', data: { a: SECRET } } };
  const preview = { kind: 'WritePreview', path: 'a.yaml', before: null, after: SECRET, object };
  const text = JSON.stringify(redactedResponse(kindOf('sharedsecrets'), preview));

  expect(text).not.toContain(SECRET);
  expect(text).toContain('visible');
});

describe('the body of a request holds no secret:', () => {
  test.each<[string, string, unknown]>([
    ['data', 'sharedsecrets', { ...applied, spec: { data: { a: SECRET } } }],
    ['data of a wrong shape', 'sharedsecrets', { spec: { data: SECRET } }],
    ['data of a wrong name', 'sharedsecrets', { spec: { dta: { a: SECRET } } }],
    ['a spec of a wrong shape', 'sharedsecrets', { spec: SECRET }],
    ['a secret in the status', 'sharedsecrets', { status: { a: SECRET } }],
    ['something else', 'sharedsecrets', SECRET],
    ['a key', 'ownedaccesskeys', { spec: { user: 'visible', key: SECRET } }],
    [
      'what a connector knows',
      'ownedaccesskeys',
      { spec: { identity: { connectorData: SECRET } } },
    ],
    ['a configuration', 'config', { spec: { raw: `a: ${SECRET}` } }],
    ['data of a project', 'projectsecrets', { spec: { data: { a: SECRET } } }],
    ['a patch of one value', 'sharedsecrets', [{ op: 'add', path: '/spec/data/a', value: SECRET }]],
    [
      'a patch of the map',
      'sharedsecrets',
      [{ op: 'add', path: '/spec/data', value: { a: SECRET } }],
    ],
    [
      'a patch of the spec',
      'sharedsecrets',
      [{ op: 'add', path: '/spec', value: { data: { a: SECRET } } }],
    ],
    [
      'a patch of everything',
      'sharedsecrets',
      [{ op: 'replace', path: '', value: { spec: SECRET } }],
    ],
    [
      'a patch of a wrong path',
      'sharedsecrets',
      [{ op: 'add', path: '/spec/dta/a', value: SECRET }],
    ],
    ['a patch of a key', 'ownedaccesskeys', [{ op: 'test', path: '/spec/key', value: SECRET }]],
    [
      "a patch of kubectl's copy",
      'teams',
      [
        {
          op: 'add',
          path: '/metadata/annotations',
          value: { 'kubectl.kubernetes.io/last-applied-configuration': SECRET },
        },
      ],
    ],
    ['a patch that is none', 'sharedsecrets', [SECRET]],
    ["kubectl's copy", 'teams', applied],
  ])('%s', (_, plural, body) => {
    expect(shown(plural, body)).not.toContain('hunter2');
  });

  test('the body of an object that is not stored holds no secret', () => {
    const text = shown(undefined, { spec: { token: SECRET, user: 'visible' } });
    expect(text).not.toContain('hunter2');
    expect(text).toContain('visible');
  });
});

test('values that are not secret are recorded', () => {
  const team = { metadata: { name: 'a' }, spec: { users: ['ann'] } };
  expect(redactedRequest(kindOf('teams'), team)).toEqual({ value: team });
  const key = { metadata: { name: 'a' }, spec: { user: 'ann', ttl: 60, key: SECRET } };
  expect(redactedRequest(kindOf('ownedaccesskeys'), key)).toEqual({
    value: { metadata: { name: 'a' }, spec: { user: 'ann', ttl: 60, key: '***' } },
  });
  const patch = [{ op: 'replace', path: '/spec/displayName', value: 'b' }];
  expect(redactedRequest(kindOf('sharedsecrets'), patch)).toEqual({ value: patch });
});

test.each<[string, unknown]>([
  ['an object', { spec: { data: { a: SECRET } } }],
  ['a list', { items: [{ spec: { data: { a: SECRET } } }] }],
  ['a table', { rows: [{ cells: ['visible'], object: { spec: { data: { a: SECRET } } } }] }],
])('%s in an answer holds no secret', (_, body) => {
  const text = JSON.stringify(redactedResponse(kindOf('sharedsecrets'), body));
  expect(text).not.toContain('hunter2');
  expect(text).toContain('***');
});

test('a URL holds no secret, and pages stay', () => {
  expect(redactedUrl('/a?access_token=x&limit=5&continue=c&code=1')).toBe(
    '/a?access_token=***&limit=5&continue=c&code=***',
  );
  expect(redactedUrl('/a')).toBe('/a');
});

describe('a URL holds no secret of a webhook', () => {
  test.each([
    ['/hooks/hunter2', '/hooks/***'],
    ['/hooks/hunter2/', '/hooks/***'],
    ['/hooks/hunter2?a=hunter2', '/hooks/***'],
    ['/hooks/a/../hunter2', '/hooks/***'],
    ['/x/../hooks/hunter2', '/hooks/***'],
    ['//hooks/hunter2', '/hooks/***'],
    ['/Hooks/hunter2', '/hooks/***'],
    ['/hooks%2fhunter2', '/hooks/***'],
    ['/%68ooks/hunter2', '/hooks/***'],
    ['/%2568ooks/hunter2', '/hooks/***'],
    ['/hooks/%zzhunter2', '/hooks/***'],
    ['/hooks\\hunter2', '/hooks/***'],
    ['/hooks;x/hunter2', '/hooks/***'],
    ['/hookshunter2', '/hooks/***'],
    ['/hooks%3fhunter2', '/hooks/***'],
    ['https://example.com/hooks/hunter2', '/hooks/***'],
  ])('%s', (url, shown) => {
    expect(redactedUrl(url)).toBe(shown);
  });

  test.each(['/apis/x/v1/namespaces/hooks/teams/a', '/hooks', '/a%2fb', '/%zz'])(
    'the rest of the URL stays: %s',
    (url) => {
      expect(redactedUrl(url)).toBe(url);
    },
  );
});

test('the message of a refusal holds no secret of a webhook', () => {
  const message = 'forbidden: User "ann" cannot put path "//hooks/hunter2"';
  expect(redactedMessage(message)).toBe('forbidden: User "ann" cannot put path "/hooks/***"');
  const other = 'forbidden: User "ann" cannot get path "/metrics"';
  expect(redactedMessage(other)).toBe(other);
});
