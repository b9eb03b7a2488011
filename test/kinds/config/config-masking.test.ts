import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import { SECRET_CONFIG_PATHS } from '../../../src/kinds/config/environment-references.ts';
import { kindNamed, object } from '../objects.ts';

/** As it is served to who may read and not change it. */
function shown(raw: string, annotations: Record<string, string> = {}): KubeObject {
  const kind = kindNamed('Config');
  const subject = { ...object('Config', { spec: { raw } }) };
  subject.metadata = { ...subject.metadata, annotations };
  const status = kind.deriveStatus(subject);
  const served = status === undefined ? subject : { ...subject, status };
  const before = structuredClone(served);
  const masked = kind.forReaders?.(served);
  expect(served, 'the object that others see').toEqual(before);
  return masked ?? served;
}

/** A configuration with a value at a path; `*` is the first item. */
function at([step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  return step === '*' ? [at(rest, value)] : { [step]: at(rest, value) };
}

/** What a block needs beside its secret, so that the whole is valid. */
const NEEDED: Readonly<Record<string, object>> = {
  'apps.repositories.*': { name: 'a', url: 'https://a' },
  'oidc.clients.*': { clientId: 'a' },
  'auth.connectors.*': { id: 'a' },
};

function completed(value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((item) => completed(item, `${path}.*`));
  if (typeof value !== 'object' || value === null) return value;
  const filled = Object.entries(value).map(([key, item]) => [
    key,
    completed(item, path === '' ? key : `${path}.${key}`),
  ]);
  return { ...NEEDED[path], ...Object.fromEntries(filled) };
}

describe('the configuration that readers get', () => {
  test.each(SECRET_CONFIG_PATHS.map((path) => [path.join('.'), path] as const))(
    '%s is not shown',
    (_, path) => {
      const raw = JSON.stringify(completed(at(path, 'hunter2'), ''));
      const text = JSON.stringify(shown(raw));
      expect(text).not.toContain('hunter2');
      expect(text).toContain('***');
    },
  );

  test('values beside secrets are shown, in the text and in the status', () => {
    const raw =
      '# was hunter1\nauth:\n  oidc: &o {clientId: me, clientSecret: hunter2}\n  connectors: [{id: a, oidc: *o}]\n';
    const { spec, status } = shown(raw);
    const oidc = { clientId: 'me', clientSecret: '***' };
    expect(parse(String(spec?.['raw']))).toEqual({
      auth: { oidc, connectors: [{ id: 'a', oidc }] },
    });
    expect(status?.['auth']).toMatchObject({ oidc });
    expect(String(spec?.['raw'])).not.toContain('hunter');
  });

  test('a text without secrets is shown as it is, and so are names of variables', () => {
    const raw = '# a comment\nauth: {oidc: {clientSecret: $OIDC_SECRET}}\n';
    const { spec, status } = shown(raw);
    expect(spec?.['raw']).toBe(raw);
    expect(status?.['auth']).toMatchObject({ oidc: { clientSecret: '$OIDC_SECRET' } });
  });

  test('the copy that kubectl keeps is not shown, whatever is in it', () => {
    const applied = 'kubectl.kubernetes.io/last-applied-configuration';
    const { metadata } = shown('platformHost: a', { [applied]: 'hunter2', other: 'b' });
    expect(metadata.annotations).toEqual({ other: 'b' });
  });
});

test.each(['$2b$10$abc', '$$SECRET', '$a-b', 'hunter2'])(
  '%s is a secret, and so is sealed',
  (text) => {
    const raw = `auth: {oidc: {clientSecret: ${text}}}`;
    const { holdsSecret } = kindNamed('Config');
    expect(holdsSecret(['spec', 'raw'], raw)).toBe(true);
    expect(holdsSecret(['spec', 'raw'], `${raw}\nwrong: 1`)).toBe(true);
  },
);

// biome-ignore lint/suspicious/noTemplateCurlyInString: a reference, not a template
test.each(['$SECRET', '"${SECRET}"', '""'])('%s is no secret', (text) => {
  const raw = `auth: {oidc: {clientSecret: ${text}}}`;
  const { holdsSecret } = kindNamed('Config');
  expect(holdsSecret(['spec', 'raw'], raw)).toBe(false);
  expect(holdsSecret(['spec', 'raw'], `${raw}\nwrong: 1`)).toBe(false);
});
