/** Events about an object. */
import type { JSX } from 'preact';
import { Badge, Empty, ErrorNotice, Loading, Panel, Time } from '../components/parts.tsx';
import { useLoad } from '../load.ts';
import { bySlug, resources } from '../resources.ts';
import { client } from '../session.ts';
import type { ObjectTabProps } from './object-tab.ts';

interface ShownEvent {
  readonly id: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly time: string;
  readonly count: number;
}

const MOST_EVENTS = 500;

export function ObjectEvents({ object }: ObjectTabProps): JSX.Element {
  const { error, value } = useLoad(
    async (signal) => await eventsOf(object?.metadata.uid ?? '', signal),
    [object?.metadata.resourceVersion],
  );
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (value === undefined) return <Loading />;
  return (
    <Panel title="Events" flush>
      {value.length === 0 ? <Empty>No events. They are kept for a short time.</Empty> : undefined}
      <ul class="rows">
        {value.map(({ id, type, reason, message, time, count }) => (
          <li key={id}>
            <div class="row-line">
              <Badge tone={type === 'Warning' ? 'warn' : 'plain'}>{reason}</Badge>
              {count > 1 ? <span class="muted">{count} times</span> : undefined}
              <span class="muted end">
                <Time value={time} />
              </span>
            </div>
            <p class="message">{message}</p>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

async function eventsOf(uid: string, signal: AbortSignal): Promise<readonly ShownEvent[]> {
  const resource = bySlug(resources.peek(), 'events.core');
  if (resource === undefined) return [];
  const fieldSelector = `involvedObject.uid=${uid}`;
  const { items } = await client.list(resource, { fieldSelector, limit: MOST_EVENTS, signal });
  return items
    .map((event): ShownEvent => {
      const text = (name: string): string => String(event[name] ?? '');
      const time = text('lastTimestamp') || text('eventTime') || event.metadata.creationTimestamp;
      return {
        id: event.metadata.uid ?? event.metadata.name,
        type: text('type'),
        reason: text('reason'),
        message: text('message'),
        time: time ?? '',
        count: Number(event['count'] ?? 1),
      };
    })
    .sort((a, b) => (a.time < b.time ? 1 : -1));
}
