/** Audit: events by person, object, verb and time, with links to objects and commits. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, type AuditEvent } from '../../../client/index.ts';
import {
  Badge,
  Empty,
  ErrorNotice,
  Facts,
  Loading,
  Notice,
  PageHead,
  Panel,
  Revision,
  Time,
} from '../components/parts.tsx';
import { count, dateTime } from '../format.ts';
import { useLoad } from '../load.ts';
import { href, query, setQuery } from '../location.ts';
import { objectHref } from '../resources.ts';
import { useRights } from '../rights.ts';
import { client } from '../session.ts';

const FIELDS = [
  ['user', 'User'],
  ['verb', 'Verb'],
  ['resource', 'Kind (plural)'],
  ['namespace', 'Namespace'],
  ['name', 'Name'],
  ['revision', 'Commit'],
] as const;
const TIMES = [
  ['since', 'From'],
  ['until', 'To'],
] as const;
const ALL = [...FIELDS, ...TIMES].map(([field]) => field);
const LIMIT = 200;

type Filters = Readonly<Record<string, string>>;

export function AuditPage(): JSX.Element {
  const given: Filters = Object.fromEntries(
    ALL.map((field) => [field, query.value.get(field) ?? '']),
  );
  const mayRead = useRights()?.mayRequest('get', '/audit/events');
  return (
    <>
      <PageHead title="Audit" />
      {mayRead === false ? (
        <Notice tone="info" title="You may not read audit events">
          <p>It takes the right to get /audit/events.</p>
        </Notice>
      ) : (
        <>
          <FilterForm given={given} />
          <Events filters={given} />
        </>
      )}
    </>
  );
}

function FilterForm({ given }: { given: Filters }): JSX.Element {
  const [filters, setFilters] = useState(given);
  const own = (field: string) => ({
    value: filters[field] ?? '',
    autocomplete: 'off',
    onInput: (event: { currentTarget: { value: string } }) =>
      setFilters({ ...filters, [field]: event.currentTarget.value }),
  });
  return (
    <form
      class="form-grid"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery(filters);
      }}
    >
      {FIELDS.map(([field, label]) => (
        <label key={field}>
          {label}
          <input {...own(field)} />
        </label>
      ))}
      {TIMES.map(([field, label]) => (
        <label key={field}>
          {label}
          <input type="datetime-local" {...own(field)} />
        </label>
      ))}
      <button class="button primary" type="submit">
        Search
      </button>
    </form>
  );
}

function Events({ filters }: { filters: Filters }): JSX.Element {
  const found = useLoad(
    async (signal) => {
      const times = TIMES.map(([field]) => [field, instantOf(filters[field] ?? '')]);
      const asked = { ...filters, ...Object.fromEntries(times), limit: LIMIT };
      return await client.api.get('/audit/events', {
        query: asked,
        signal,
      });
    },
    [JSON.stringify(filters)],
  );
  const { error, value } = found;
  if (error instanceof ApiError && error.code === 404) {
    return (
      <div class="stack">
        <Notice tone="info" title="No audit events are stored here">
          <p>
            Set <code>audit.enabled</code> and <code>audit.dataStoreEndpoint</code> in the{' '}
            <a href={href(['config'])}>configuration</a> to search them. Without a data store,
            events are in the audit file alone.
          </p>
        </Notice>
      </div>
    );
  }
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (value === undefined || found.isLoading) return <Loading />;
  const { items } = value;
  const requests = requestsOf(items);
  return (
    <div class="stack">
      <Panel
        title={count(requests.length, 'request')}
        aside={items.length === LIMIT ? <span class="muted">the newest ones</span> : undefined}
        flush
      >
        {requests.length === 0 ? <Empty>No request matches.</Empty> : undefined}
        <ul class="rows">
          {requests.map((stages, index) => (
            <li key={index}>
              <RequestRow stages={stages} />
            </li>
          ))}
        </ul>
      </Panel>
    </div>
  );
}

/** Events of one request, the last stage first. */
type Stages = readonly [AuditEvent, ...AuditEvent[]];

/** Later stages know more: the answer, and the commit. */
const STAGES = ['Panic', 'ResponseComplete', 'ResponseStarted', 'RequestReceived'];

/** In the order of the events. Clusters choose the ids of events that they relay: no event hides another one. */
function requestsOf(events: readonly AuditEvent[]): readonly Stages[] {
  const requests: [AuditEvent, ...AuditEvent[]][] = [];
  const newest = new Map<string, AuditEvent[]>();
  for (const event of events) {
    const { auditID, requestURI, user } = event;
    const id = JSON.stringify([auditID, requestURI, user?.username]);
    const stages = newest.get(id);
    if (stages?.every(({ stage }) => stage !== event.stage) === true) {
      stages.push(event);
      continue;
    }
    const request: [AuditEvent] = [event];
    requests.push(request);
    newest.set(id, request);
  }
  const rank = ({ stage }: AuditEvent): number => STAGES.indexOf(stage);
  for (const stages of requests) stages.sort((a, b) => rank(a) - rank(b));
  return requests;
}

/** The input has no zone: it is the time of the browser. */
function instantOf(text: string): string {
  const time = Date.parse(text);
  return Number.isNaN(time) ? '' : new Date(time).toISOString();
}

const REVISION = 'gitplane.dev/revision';

/** The object, or the platform, as the commit left it. */
function momentHref(of: NonNullable<AuditEvent['objectRef']>, revision: string): string {
  const { apiGroup: group = '', resource: plural, namespace = '', name = '' } = of;
  const search = { at: revision };
  if (plural === undefined || name === '') return href([], search);
  return objectHref({ group, name: plural }, { namespace, name }, search);
}

function RequestRow({ stages }: { stages: Stages }): JSX.Element {
  const [event] = stages;
  const {
    verb,
    user,
    objectRef = {},
    responseStatus,
    requestURI,
    stageTimestamp,
    annotations,
  } = event;
  const { apiGroup = '', resource, namespace = '', name, subresource } = objectRef;
  const code = responseStatus?.code;
  const revision = annotations?.[REVISION];
  const title = [namespace, name].filter(Boolean).join('/');
  return (
    <>
      <div class="row-line">
        <span class="row-title">{user?.username ?? 'nobody'}</span>
        <Badge tone="plain">{verb}</Badge>
        {resource === undefined ? undefined : (
          <span>
            {resource}
            {subresource === undefined || subresource === '' ? '' : `/${subresource}`}{' '}
            {name === undefined || name === '' ? (
              namespace
            ) : (
              <a href={objectHref({ group: apiGroup, name: resource }, { namespace, name })}>
                {title}
              </a>
            )}
          </span>
        )}
        {code === undefined ? undefined : (
          <Badge tone={code >= 400 ? 'alert' : 'good'}>{code}</Badge>
        )}
        {revision === undefined ? undefined : (
          <a href={momentHref(objectRef, revision)} aria-label={`Commit ${revision.slice(0, 8)}`}>
            <Revision id={revision} />
          </a>
        )}
        <span class="end muted">
          <Time value={stageTimestamp} />
        </span>
      </div>
      <code class="place">{requestURI}</code>
      {stages.length > 1 ? (
        <details>
          <summary>{count(stages.length, 'stage')}</summary>
          <StageTimes stages={stages} />
        </details>
      ) : undefined}
    </>
  );
}

/** Times of the stages, each after the first in milliseconds. */
function StageTimes({ stages }: { stages: Stages }): JSX.Element {
  const inOrder = [...stages].reverse();
  const began = Date.parse(inOrder[0]?.stageTimestamp ?? '');
  return (
    <Facts
      rows={inOrder.map(({ stage, stageTimestamp }, index) => [
        stage,
        index === 0
          ? dateTime(stageTimestamp)
          : `${Math.max(0, Date.parse(stageTimestamp) - began)} ms later`,
      ])}
    />
  );
}
