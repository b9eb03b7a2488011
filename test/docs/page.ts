/** Runs a page: each of its commands is a test, in the order of the page and in one shell. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { matchesOutput, type Step, stepsOf } from './markdown.ts';
import { canRunPages, openShell, type Shell } from './shell.ts';

/** Runs one step and holds it to what its page says. */
export async function runStep(shell: Shell, step: Step): Promise<void> {
  const { output, failed } = await shell.run(step.command);
  expect(failed, `${step.title}\n${output}`).toBe(step.fails);
  if (step.output === undefined) return;
  const expected = shell.translate(step.output);
  if (!matchesOutput(expected, output)) expect(output).toBe(expected);
}

/** `prelude`: a page whose first command sets the stage for the others. */
export function describePages(name: string, pages: readonly string[], prelude?: string): void {
  describe.skipIf(!canRunPages())(name, () => {
    let daemon: Daemon;

    beforeAll(async () => {
      daemon = await startDaemon();
    });

    afterAll(async () => {
      await daemon.stop();
    });

    describe.each(pages)('%s', (page) => {
      let shell: Shell;

      beforeAll(async () => {
        shell = openShell(daemon);
        const [first] = prelude === undefined ? [] : stepsOf(prelude);
        if (first !== undefined) await runStep(shell, first);
      });

      afterAll(() => shell.close());

      for (const step of stepsOf(page)) test(step.title, () => runStep(shell, step));
    });
  });
}
