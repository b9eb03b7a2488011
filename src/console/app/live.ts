/** Lists that stay current, as hooks; and whether the page is connected to the server. */
import { computed, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { KubeObject, ObjectRef, Resource } from '../api/objects.ts';
import { type Connection, followList, followObject, type LiveList } from '../api/watch.ts';
import { errorOf } from './load.ts';
import { momentOf } from './location.ts';
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
  rows: [],
  remaining: 0,
  connection: 'loading',
  error: undefined,
};

/** A list of a kind that follows the server; undefined resource: nothing. Rendered at most once per frame. */
export function useLiveList(
  resource: Resource | undefined,
  of: {
    readonly namespace?: string | undefined;
    readonly labelSelector?: string | undefined;
    /** A moment of the past; empty: the present. */
    readonly moment?: string;
  } = {},
): LiveList {
  const [list, setList] = useState(NOTHING);
  const { namespace, labelSelector, moment = '' } = of;
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
      moment: momentOf(moment),
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
  }, [resource, namespace, labelSelector, moment]);
  return list;
}

interface LiveObject {
  readonly object: KubeObject | undefined;
  readonly error: Error | undefined;
}

/** One object that follows the server; of the past where `moment` is not empty. */
export function useLiveObject(resource: Resource, ref: ObjectRef, moment: string): LiveObject {
  const [state, setState] = useState<LiveObject>({ object: undefined, error: undefined });
  useEffect(() => {
    const gone = new AbortController();
    const { signal } = gone;
    const id = {};
    setState({ object: undefined, error: undefined });
    if (moment === '') {
      void followObject({
        ...{ client, resource, ref, signal },
        onChange: (object, error) => setState({ object, error }),
        onConnection: (connection) => setConnection(id, connection),
      });
    } else {
      client.get(resource, ref, { ...momentOf(moment), signal }).then(
        (object) => setState({ object, error: undefined }),
        (error: unknown) => {
          if (!signal.aborted) setState({ object: undefined, error: errorOf(error) });
        },
      );
    }
    return () => {
      gone.abort();
      setConnection(id, undefined);
    };
  }, [resource, moment]);
  return state;
}
