import { expect, test } from 'vitest';
import { clientUrl, warnOfLocalUrls } from '../../../src/daemon/network/listener.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

const LOCAL = 'https://127.0.0.1:8443';

test.each([
  ['0.0.0.0', ['gitplane.example.com', 'other'], 'https://gitplane.example.com:8443'],
  ['::', ['gitplane.example.com'], 'https://gitplane.example.com:8443'],
  ['0.0.0.0', [], LOCAL],
  ['127.0.0.1', ['gitplane.example.com'], LOCAL],
])('clients of a daemon on %s with the host names %j', (host, hostnames, url) => {
  expect(clientUrl({ listen: { host, port: 8443 }, hostnames }, LOCAL)).toBe(url);
});

test.each([
  ['0.0.0.0', [], undefined, true],
  ['::', [], undefined, true],
  ['0.0.0.0', ['gitplane.example.com'], undefined, false],
  ['0.0.0.0', [], 'https://gitplane.example.com', false],
  ['10.0.0.1', [], undefined, false],
])('the log on %s with %j and --public-url %s warns: %s', (host, hostnames, publicUrl, warns) => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(line) });
  warnOfLocalUrls({ listen: { host, port: 8443 }, hostnames, publicUrl }, { url: LOCAL, logger });
  expect(lines).toHaveLength(warns ? 1 : 0);
});
