/** Requests of git clients whose service cannot be started at all. */
import { fastify } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import type { ServerDependencies } from '../../src/server/dependencies.ts';
import { registerGit } from '../../src/server/routes/git.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { ann, kinds } from '../support/platform.ts';

test.each(['git-upload-pack', 'git-receive-pack'])(
  'a %s that does not start is answered with 500, logged and recorded',
  async (service) => {
    const log: string[] = [];
    const audited: unknown[] = [];
    const trail = { received: () => undefined, ended: (answer: unknown) => audited.push(answer) };
    const deps = {
      ...{ kinds, clock: Date, version: '0', root: '/kubernetes/management' },
      audit: { isOn: true, begin: () => trail },
      authenticate: () => ({ user: ann }),
      authorizer: { authorize: () => ({ allowed: true, reason: '' }) },
      logger: createLogger('info', { write: (line: string) => log.push(line) }),
      git: {
        // No process starts in a folder of this name.
        repository: { gitDir: '/tmp/\0' },
        procReceive: [],
        beginPush: () => ({ hooks: undefined, end: () => Promise.resolve(undefined) }),
      },
    } as unknown as ServerDependencies;
    const app = fastify();
    registerGit(app, deps);
    onTestFinished(() => app.close());

    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    const answer = await fetch(`${address}/git/platform.git/${service}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from('ann:key').toString('base64')}`,
        'content-type': `application/x-${service}-request`,
      },
      body: '0000',
    });

    expect([answer.status, await answer.text()]).toEqual([
      500,
      'git failed: see the log of the server\n',
    ]);
    await expect.poll(() => audited).toEqual([{ code: 500 }]);
    expect(log.join()).toContain('A git service failed');
  },
);
