/** The Java client of fabric8, with Maven and a JDK of at least 17. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { javaLibraries } from './java-libraries.ts';
import { failedClaims } from './program.ts';

const LIMIT = 1_800_000;
const FOLDER = join(import.meta.dirname, 'fabric8');
const OPTIONS = ['-Xmx256m', '-XX:+UseSerialGC', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'];

describe.skipIf(process.env['GITPLANE_CLIENTS'] === undefined)('fabric8', () => {
  let daemon: Daemon;

  beforeAll(async () => {
    daemon = await startDaemon();
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  test(
    'writes, patches, applies, lists, watches, follows with informers and leads',
    async (context) => {
      const libraries = javaLibraries('fabric8', LIMIT);
      if (libraries === undefined) return context.skip();
      const program = [...OPTIONS, '-cp', join(libraries, '*'), join(FOLDER, 'Clients.java')];
      const kubeconfig = join(daemon.dataDir, 'kubeconfig');
      expect(await failedClaims('java', [...program, kubeconfig])).toEqual([]);
    },
    LIMIT,
  );
});
