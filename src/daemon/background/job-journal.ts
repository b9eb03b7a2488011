/** Journal of job times in the data directory: after a restart, the scheduler finds missed runs. */
import { isRecord } from '../../apimachinery/index.ts';
import { readIfThere, replaceFile } from '../../auth/index.ts';
import type { JobRecord, Journal } from '../../scheduler/index.ts';
import type { Logger } from '../../telemetry/index.ts';

export function jobJournal(file: string, logger: Pick<Logger, 'warn'>): Journal {
  return {
    read: async () => {
      try {
        return recordsIn(await readIfThere(file));
      } catch (err) {
        logger.warn({ err, file }, 'The job times cannot be read: missed runs are not made up for');
        return {};
      }
    },
    write: (records) => replaceFile(file, `${JSON.stringify(records, null, 2)}\n`),
  };
}

/** Skips entries of another shape. Throws for text that is not JSON. */
export function recordsIn(text: string | undefined): Readonly<Record<string, JobRecord>> {
  const parsed: unknown = JSON.parse(text ?? '{}');
  if (!isRecord(parsed)) return {};
  return Object.fromEntries(
    Object.entries(parsed).flatMap(([name, record]) =>
      isJobRecord(record) ? [[name, record]] : [],
    ),
  );
}

function isJobRecord(value: unknown): value is JobRecord {
  return (
    isRecord(value) && typeof value['schedule'] === 'string' && typeof value['next'] === 'string'
  );
}
