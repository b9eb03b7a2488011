/** Lists that stay current, as hooks; and whether the page is connected to the server. */
import { computed, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { Resource } from '../api/objects.ts';
import { type Connection, followList, type LiveList } from '../api/watch.ts';
import { client } from './session.ts';

/** Connections of the lists that the page follows. */
const connections = signal<ReadonlyMap<object, Connection>>(new Map());

/** False while a list waits for the server. */
export const isConnected = computed(
  () => ![...connections.value.values()].includes('disconnected'),
);

export function setConnection(of: object, connection: Connection | undefined): void {
  const next = new Map(connections.peek());
  if (connection === undefined) next.delete(of);
  else next.set(of, connection);
  connections.value = next;
}

const NOTHING: LiveList = {
  columns: [],
  rows: new Map(),
  remaining: 0,
  connection: 'loading',
  error: undefined,
};

/** A list of a kind that follows the server; undefined resource: nothing. Rendered at most once per frame. */
export function useLiveList(
  resource: Resource | undefined,
  of: { readonly namespace?: string | undefined; readonly labelSelector?: string | undefined } = {},
): LiveList {
  const [list, setList] = useState(NOTHING);
  const { namespace, labelSelector } = of;
  useEffect(() => {
    if (resource === undefined) return;
    const gone = new AbortController();
    const id = {};
    let newest = NOTHING;
    let frame: number | undefined;
    setList(NOTHING);
    void followList({
      client,
      resource,
      namespace,
      labelSelector,
      signal: gone.signal,
      onChange: (next) => {
        if (gone.signal.aborted) return;
        if (next.connection !== newest.connection) setConnection(id, next.connection);
        newest = next;
        frame ??= requestAnimationFrame(() => {
          frame = undefined;
          setList(newest);
        });
      },
    });
    return () => {
      gone.abort();
      if (frame !== undefined) cancelAnimationFrame(frame);
      setConnection(id, undefined);
    };
  }, [resource, namespace, labelSelector]);
  return list;
}
