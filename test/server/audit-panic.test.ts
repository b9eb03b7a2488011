/** What the audit log is told where the server itself fails. */
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Auditor } from '../../src/audit/auditor.ts';
import { FailedLogins } from '../../src/auth/rate-limits/failed-logins.ts';
import { ConfigFeed } from '../../src/config/config-feed.ts';
import { CLIENT_KINDS, CORE_KINDS } from '../../src/kinds/kubernetes/tables.ts';
import type { ServerDependencies } from '../../src/server/dependencies.ts';
import { FlowClassifier } from '../../src/server/filters/flow-classifier.ts';
import { buildServer } from '../../src/server/server.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { temporaryFolder } from '../support/git.ts';
import { kinds } from '../support/platform.ts';

function fail(error: unknown): never {
  throw error;
}

test('a fault of the server is the stage Panic in place of ResponseComplete, and an error answer is not, for any client', async () => {
  const directory = temporaryFolder();
  const config = new ConfigFeed({ environment: {}, onError: fail });
  const rules = [{ level: 'Metadata' }];
  const audit = { enabled: true, path: 'a.log', maxSize: 1, compress: false, policy: { rules } };
  config.offer({ audit, auth: {}, projectNamespacePrefix: 'p-' }, false);
  const observer = { trouble: (_sink: string, error: unknown) => fail(error), refused: fail };
  const output = process.stdout;
  const auditor = new Auditor({ config, directory, clock: Date, observer, output });
  const log: string[] = [];
  const deps = {
    ...{ kinds, config, clock: Date, audit: auditor, version: '0' },
    root: '/kubernetes/management',
    store: { resourceVersion: 1 },
    clusters: { prefix: '/kubernetes', find: () => undefined },
    clientState: { kinds: CLIENT_KINDS },
    core: { kinds: CORE_KINDS },
    failedLogins: new FailedLogins(Date),
    fairness: new FlowClassifier(),
    logger: createLogger('info', { write: (line: string) => log.push(line) }),
    metrics: { requests: { observe: () => undefined } },
    health: new Proxy({}, { get: () => fail(new Error('a bug')) }),
  } as unknown as ServerDependencies;
  const app = buildServer(deps, {});
  onTestFinished(() => app.close());

  const broken = await app.inject({ url: '/readyz' });
  const refused = await app.inject({ url: '/nowhere' });
  // As the loops of clusters ask: there is no address.
  const socketPath = join(directory, 'socket');
  await app.listen({ path: socketPath });
  const local = await new Promise<IncomingMessage>((resolve) =>
    get({ socketPath, path: '/nowhere' }, resolve),
  );
  local.resume();
  await auditor.close();

  expect([broken.statusCode, refused.statusCode]).toEqual([500, 401]);
  expect(log.join()).toContain('a bug');
  const events = readFileSync(join(directory, 'a.log'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const stages = (id: unknown): string[] =>
    events.flatMap(({ auditID, stage }) => (auditID === id ? [stage] : []));
  expect(stages(broken.headers['audit-id'])).toEqual(['RequestReceived', 'Panic']);
  expect(stages(refused.headers['audit-id'])).toEqual(['RequestReceived', 'ResponseComplete']);
  expect(stages(local.headers['audit-id'])).toEqual(['RequestReceived', 'ResponseComplete']);
  const panic = events.find(({ stage }) => stage === 'Panic');
  expect(panic).toMatchObject({ requestURI: '/readyz', responseStatus: { code: 500 } });
  // What went wrong inside is for the log of the daemon.
  expect(JSON.stringify(panic)).not.toContain('a bug');
});
