/** `gitplane approve`: approval of a revision that is held, or whose push was refused by the prune budget. */
import { isRecord } from '../apimachinery/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { openConnection } from './connection.ts';
import { type Output, print } from './print.ts';

export async function approve(options: ParsedOptions, out: Output): Promise<number> {
  const [revision = ''] = options.operands;
  const reason = options.text('reason');
  if (!/^[0-9a-f]{40}$/.test(revision)) {
    throw new UsageError(
      `${JSON.stringify(revision)} is not a commit id: give all 40 digits, as git rev-parse prints them`,
    );
  }
  if (reason === undefined) {
    throw new UsageError('--reason is missing: say why, as in --reason "the teams moved"');
  }
  const connection = await openConnection(options);
  const answer = await connection.ask('POST', 'sync/approve', { body: { revision, reason } });
  const isApplied = isRecord(answer) && answer['revision'] === revision;
  const next = isApplied ? 'readers see it' : 'it counts when the commit is pushed';
  print(options, out, { text: `${revision} is approved: ${next}\n`, json: answer });
  return 0;
}
