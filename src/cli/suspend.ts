/** `gitplane suspend` and `gitplane resume`: parts of a platform that are stopped for a time. */
import { isRecord, parseGoDuration } from '../apimachinery/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { openConnection } from './connection.ts';
import { type Output, print } from './print.ts';

export async function suspend(options: ParsedOptions, out: Output): Promise<number> {
  const path = pathOf(options);
  const [reason, duration] = [options.text('reason'), options.required('for')];
  if (reason === undefined) {
    throw new UsageError('--reason is missing: say why, as in --reason "the forge is migrated"');
  }
  const isDuration = (parseGoDuration(duration) ?? 0) > 0;
  if (!isDuration) throw new UsageError(`--for: ${duration} is not a duration, such as 30m or 24h`);
  const body = { reason, for: duration };
  const connection = await openConnection(options);
  const answer = await connection.ask('POST', path, { body });
  const { target, until } = isRecord(answer) ? answer : {};
  print(options, out, { text: `${target} is suspended until ${until}\n`, json: answer });
  return 0;
}

export async function resume(options: ParsedOptions, out: Output): Promise<number> {
  const path = pathOf(options);
  const answer = await (await openConnection(options)).ask('DELETE', path);
  const { target } = isRecord(answer) ? answer : {};
  print(options, out, { text: `${target} runs again\n`, json: answer });
  return 0;
}

/** The first operand is one of the actions of the command. */
function pathOf({ operands }: ParsedOptions): string {
  return ['suspensions', ...operands].map(encodeURIComponent).join('/');
}
