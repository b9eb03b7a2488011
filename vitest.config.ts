import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, sep } from 'node:path';
import { defineConfig } from 'vitest/config';
import { doorLinker } from './scripts/link-doors.mjs';
import { LongestFirst } from './test/support/longest-first.ts';
import { SkippedTests } from './test/support/skipped-tests.ts';

/** Folders whose files share processes: loading the program takes longer than most of them run. */
const SHARED = [
  'admission',
  'apimachinery',
  'auth',
  'catalog',
  'concurrency',
  'config',
  'controllers',
  'field-management',
  'history',
  'kinds',
  'kubernetes-client',
  'manifests',
  'options',
  'registry',
  'sealing',
  'secrets-merge',
  'server',
  'sign-in',
  'secret-store-sync',
  'telemetry',
];

/** Files below them that start daemons or peers, replace modules, or measure the heap: a process each. */
const APART =
  /auth\/access-keys|server\/kubectl|saml\/simplesamlphp|openbao|concurrency\/garbage-collection/;

const files = readdirSync(join(import.meta.dirname, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `test/${name.replaceAll(sep, '/')}`);
const shared = files.filter(
  (file) => SHARED.includes(file.split('/')[1] ?? '') && !APART.test(file),
);

const link = doorLinker(join(import.meta.dirname, 'src'));

export default defineConfig({
  // A test loads the files that it uses, not each folder whole.
  plugins: [
    {
      name: 'link-doors',
      enforce: 'pre',
      transform: (text, id) => (id.endsWith('.ts') ? link(id, text) : undefined),
    },
  ],
  test: {
    reporters: ['default', new SkippedTests()],
    globalSetup: ['test/support/temporary-root.ts'],
    setupFiles: ['test/support/properties.ts', 'test/support/patience.ts'],
    sequence: { sequencer: LongestFirst },
    expect: { poll: { timeout: 30_000 } },
    // For what hangs: a test that measures time says so, and no limit judges how busy the machine is.
    testTimeout: 240_000 * Number(process.env['GITPLANE_TEST_RUNS'] ?? 1),
    hookTimeout: 240_000,
    // Tests wait for git, for leases and for daemons much of the time: more than there are cores.
    maxWorkers: 2 + availableParallelism(),
    env: { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    projects: [
      {
        extends: true,
        test: {
          name: 'apart',
          include: files.filter((file) => !shared.includes(file)),
        },
      },
      {
        extends: true,
        test: {
          name: 'shared',
          include: shared,
          isolate: false,
          setupFiles: ['test/support/clean-process.ts'],
        },
      },
    ],
  },
});
