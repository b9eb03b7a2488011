/**
 * The core group as far as kubectl cannot do without it: an `events` that is always empty. With
 * the group in discovery kubectl takes `kind: List` as input, which is what its own `get -o yaml`
 * prints, and `describe` and `get events` find what they ask for.
 */

import type { ApiGroupVersion } from './documents/discovery.ts';
import type { ResourceInfo } from './input/request-info.ts';
import { type Answer, jsonAnswer } from './output/answer.ts';

export const CORE_GROUP: ApiGroupVersion = {
  group: '',
  version: 'v1',
  resources: [
    {
      name: 'events',
      singularName: 'event',
      namespaced: true,
      kind: 'Event',
      verbs: ['list'],
      shortNames: ['ev'],
    },
  ],
};

/** Undefined when the request is not for the list of events. */
export function answerEvents(
  { group, version, resource, verb }: ResourceInfo,
  resourceVersion: number,
): Answer | undefined {
  if (group !== '' || version !== 'v1' || resource !== 'events' || verb !== 'list')
    return undefined;
  const metadata = { resourceVersion: String(resourceVersion) };
  return jsonAnswer({ kind: 'EventList', apiVersion: 'v1', metadata, items: [] });
}
