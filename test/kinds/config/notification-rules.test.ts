/** Rules of the receivers of notifications. */
import { expect, test } from 'vitest';
import { formatPath } from '../../../src/apimachinery/field-error.ts';
import { parseConfigRaw } from '../../../src/kinds/config/config-raw.ts';
import { configProblems } from '../../../src/kinds/config/config-rules.ts';

const webhook = { url: 'https://x.example.com/hook', secret: '$HOOK_SECRET' };
const email = { host: 'mail.example.com', from: 'a@example.com', to: ['b@example.com'] };

test.each<[object[], string[]]>([
  [[{ name: 'ops', webhook }], []],
  [[{ name: 'ops', webhook: { ...webhook, url: '$HOOK_URL' } }], []],
  [[{ name: 'ops', slack: { urlFile: '/run/secrets/slack' } }], []],
  [[{ name: 'ops', email: { ...email, username: 'u', password: '$P' } }], []],
  [[{ name: 'Ops!', webhook }], ['notifications[0].name']],
  [
    [
      { name: 'a', webhook },
      { name: 'a', webhook },
    ],
    ['notifications[1].name'],
  ],
  [[{ name: 'a' }], ['notifications[0].webhook']],
  [[{ name: 'a', webhook, email }], ['notifications[0].email']],
  [[{ name: 'a', webhook: { url: 'ftp://x', secret: '$S' } }], ['notifications[0].webhook.url']],
  [
    [{ name: 'a', webhook: { url: 'https://u:p@x.example.com', secret: '$S' } }],
    ['notifications[0].webhook.url'],
  ],
  [[{ name: 'a', webhook: { url: 'https://x' } }], ['notifications[0].webhook.secret']],
  [[{ name: 'a', webhook: { ...webhook, secret: 'short' } }], ['notifications[0].webhook.secret']],
  [
    [{ name: 'a', webhook: { ...webhook, secretFile: '/run/secrets/x' } }],
    ['notifications[0].webhook.secretFile'],
  ],
  [[{ name: 'a', slack: {} }], ['notifications[0].slack.url']],
  [[{ name: 'a', email: { ...email, to: ['b@x\r\nBcc: c@x'] } }], ['notifications[0].email.to[0]']],
  [[{ name: 'a', email: { ...email, password: '$P' } }], ['notifications[0].email.username']],
  [
    [{ name: 'a', email: { ...email, tls: 'None', username: 'u', password: '$P' } }],
    ['notifications[0].email.tls'],
  ],
])('%j', (notifications, paths) => {
  const { status, problems } = parseConfigRaw(JSON.stringify({ notifications }));
  expect(problems.map(({ message }) => message).join()).toBe(
    paths.length === 0 ? '' : problems.map(({ message }) => message).join(),
  );
  const found = configProblems({
    ...status,
    notifications: structuredClone(notifications) as never,
  });
  expect(found.map(({ path }) => formatPath(path))).toEqual(paths);
});
