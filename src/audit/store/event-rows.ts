/** Lines of the audit log as rows of a data store. */
import { isRecord } from '../../apimachinery/index.ts';
import type { EventRow } from './event-store.ts';

/** Annotation with the sender of a relayed event. */
export const SOURCE_ANNOTATION = 'gitplane.dev/sent-by-agent';

const REVISION_ANNOTATION = 'gitplane.dev/revision';

/** Lines that are not events are skipped and counted. */
export function eventRows(lines: string): { readonly rows: EventRow[]; readonly lost: number } {
  const texts = lines.split('\n').filter((line) => line !== '');
  const rows = texts.flatMap((line) => rowOf(line) ?? []);
  return { rows, lost: texts.length - rows.length };
}

function rowOf(line: string): EventRow | undefined {
  const event = parsed(line);
  if (!isRecord(event)) return undefined;
  // The sender's clock may be ahead, and an event in the future would never be old enough to be
  // removed.
  const time = Math.min(Date.parse(textOf(event['stageTimestamp'])), Date.now());
  const auditId = textOf(event['auditID']);
  if (Number.isNaN(time) || auditId === '') return undefined;
  const user = recordOf(event['user']);
  const object = recordOf(event['objectRef']);
  const annotations = recordOf(event['annotations']);
  const code = recordOf(event['responseStatus'])['code'];
  return {
    auditId,
    stage: textOf(event['stage']),
    source: textOf(annotations[SOURCE_ANNOTATION]),
    time,
    level: textOf(event['level']),
    username: textOf(user['username']),
    verb: textOf(event['verb']),
    uri: textOf(event['requestURI']),
    apiGroup: textOf(object['apiGroup']),
    resource: textOf(object['resource']),
    subresource: textOf(object['subresource']),
    namespace: textOf(object['namespace']),
    name: textOf(object['name']),
    code: typeof code === 'number' && Number.isInteger(code) ? code : null,
    revision: textOf(annotations[REVISION_ANNOTATION]) || null,
    event: line,
  };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** Databases refuse the NUL character. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : '';
}
