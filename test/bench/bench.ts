/** Performance table of this machine. */
import { availableParallelism, platform } from 'node:os';
import { runGit } from '../../src/git/process/git-process.ts';
import type { ParsedOptions } from '../../src/options/parse-options.ts';
import { Corpus } from './corpus.ts';
import { Fixture } from './fixture.ts';
import { readBenchOptions } from './options.ts';
import { formatHeading, formatJson, formatLine, type Line, type Setting } from './report.ts';
import { ROWS } from './rows.ts';
import { Workspace } from './workspace.ts';

/** Resolves to the exit status. Missed goals are told, not punished: they depend on the machine. */
export async function bench(
  parsed: ParsedOptions,
  out: { write(text: string): void },
): Promise<number> {
  const options = readBenchOptions(parsed);
  const { repetitions, profile } = options;
  const corpus = new Corpus(options.manifests);
  const workspace = new Workspace();
  try {
    const fixture = new Fixture({ workspace, corpus, repetitions, profile });
    const setting = await describe(workspace.root, corpus, repetitions);
    const text = options.format === 'text';
    if (text) out.write(`${formatHeading(setting)}\n`);
    const measured = new Map<string, Line[]>();
    for (const name of options.rows) {
      const lines = (await ROWS.get(name)?.(fixture)) ?? [];
      measured.set(name, lines);
      if (text) for (const line of lines) out.write(`${formatLine(line)}\n`);
    }
    if (!text) out.write(`${formatJson(setting, measured)}\n`);
  } finally {
    workspace.dispose();
  }
  return 0;
}

async function describe(root: string, corpus: Corpus, repetitions: number): Promise<Setting> {
  const version = (await runGit({ gitDir: root }, ['version'])).toString('utf8');
  return {
    machine: {
      cores: availableParallelism(),
      platform: platform(),
      node: process.versions.node,
      git: /\d+(\.\d+)+/.exec(version)?.[0] ?? 'unknown',
    },
    manifests: corpus.size,
    bytes: corpus.bytes,
    repetitions,
  };
}
