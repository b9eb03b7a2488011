/** A delivery as a document of the store. */
import { isRecord, type JsonObject } from '../apimachinery/index.ts';
import type { Delivery } from './delivery.ts';

export function documentOf({ id, destination, topic, payload, created }: Delivery): JsonObject {
  return { id, destination, ...(topic === undefined ? {} : { topic }), payload, created };
}

/** Undefined: another version wrote it in another form. */
export function readDelivery(document: JsonObject): Delivery | undefined {
  const { id, destination, topic, payload, created } = document;
  if (typeof id !== 'string' || typeof destination !== 'string') return undefined;
  if (typeof created !== 'number' || !isRecord(payload)) return undefined;
  return {
    id,
    destination,
    payload,
    created,
    ...(typeof topic === 'string' ? { topic } : {}),
  };
}
