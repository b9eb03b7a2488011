import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { SkippedTests } from './test/support/skipped-tests.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', new SkippedTests()],
    setupFiles: ['test/support/properties.ts', 'test/support/patience.ts'],
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 90_000 * Number(process.env['GITPLANE_TEST_RUNS'] ?? 1),
    hookTimeout: 60_000,
    // Tests wait for git, for disks and for daemons much of the time: one more than there are cores.
    maxWorkers: 1 + availableParallelism(),
    env: { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
  },
});
