/** The lines of a watch stream: one JSON document an event (reference: Kubernetes API, section 2.7). */
import type { KubeObject } from '../../apimachinery/index.ts';
import { shownBytes, shownObject } from '../../registry/index.ts';
import {
  type AnswerForm,
  metaVersion,
  type ReadyObject,
  type ShownKind,
  tableOptions,
  versionOf,
} from './representation.ts';
import { buildEventTable, partialMetadata } from './table.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/**
 * Makes the lines of one watch. A stream of tables tells its columns once, so every watch needs an
 * encoder of its own.
 */
export function createEventEncoder(
  kind: ShownKind,
  form: AnswerForm,
): (type: WatchEventType, ready: ReadyObject) => Buffer {
  let first = true;
  return (type, ready) => {
    switch (form.transform?.kind) {
      case undefined:
        return eventLine(type, shownBytes(kind, ready));
      case 'Table': {
        const object = shownObject(kind, ready);
        const table = buildEventTable(kind, { object, first }, tableOptions(form));
        first = false;
        return frame(type, Buffer.from(JSON.stringify(table)));
      }
      default: {
        const version = metaVersion(form);
        return lineOfTick(ready, `${type} ${version}`, () => {
          const partial = partialMetadata(shownObject(kind, ready), version);
          return frame(type, Buffer.from(JSON.stringify(partial)));
        });
      }
    }
  };
}

/** An ERROR event; its object is a Status, whatever form was negotiated. */
export function errorLine(status: object): Buffer {
  return frame('ERROR', Buffer.from(JSON.stringify(status)));
}

/** Object of a BOOKMARK: a version, and whether the initial events are over. */
export function bookmarkObject(
  kind: ShownKind,
  bookmark: { readonly resourceVersion: number; readonly initialEventsEnd: boolean },
): KubeObject {
  return {
    kind: kind.kind,
    apiVersion: versionOf(kind),
    metadata: {
      resourceVersion: String(bookmark.resourceVersion),
      ...(bookmark.initialEventsEnd
        ? { annotations: { 'k8s.io/initial-events-end': 'true' } }
        : {}),
    },
  };
}

/** A smaller line is shared during one tick: after that a second copy would cost more than making it. */
const SHARED_LINE_BYTES = 16 * 1024;
const sharedLines = new WeakMap<Buffer, Map<WatchEventType, Buffer>>();

/** The line of a large object is made once and shared by all watchers that get it. */
function eventLine(type: WatchEventType, bytes: Buffer): Buffer {
  if (bytes.length < SHARED_LINE_BYTES) {
    return lineOfTick(bytes, type, () => frame(type, bytes));
  }
  const lines = sharedLines.get(bytes) ?? new Map<WatchEventType, Buffer>();
  sharedLines.set(bytes, lines);
  const line = lines.get(type) ?? frame(type, bytes);
  lines.set(type, line);
  return line;
}

const linesOfTick = new Map<object, Map<string, Buffer>>();

/**
 * One line for an object in one form: a change wakes all watches in one tick, and each writes it. A
 * slow client that reads the event later gets a line of its own.
 */
function lineOfTick(of: object, form: string, make: () => Buffer): Buffer {
  if (linesOfTick.size === 0) setImmediate(() => linesOfTick.clear());
  const lines = linesOfTick.get(of) ?? new Map<string, Buffer>();
  linesOfTick.set(of, lines);
  const line = lines.get(form) ?? make();
  lines.set(form, line);
  return line;
}

const LINE_END = Buffer.from('}\n');

function frame(type: WatchEventType, object: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object, LINE_END]);
}
