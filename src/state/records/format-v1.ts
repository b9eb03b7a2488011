/** Version 1 of the format: one record per object, `{key, hidden}` on the first line. */
import type { JsonObject, KubeObject, ObjectKey } from '../../apimachinery/index.ts';
import { ObjectHandle } from '../objects/object-handle.ts';
import { OwnVersion } from '../objects/own-version.ts';

export function decodeFirstFormat(record: Buffer): ObjectHandle {
  const end = record.indexOf('\n');
  const head: { key: ObjectKey; hidden?: JsonObject } = JSON.parse(record.toString('utf8', 0, end));
  const object: KubeObject = JSON.parse(record.toString('utf8', end + 1));
  return new ObjectHandle(head.key, new OwnVersion(object, { hidden: head.hidden }), 0);
}
