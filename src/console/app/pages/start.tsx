/** Start page: whether all is well, and what is not. It follows the platform by one watch per kind. */
import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Resource } from '../../api/objects.ts';
import type { DegradedObject, HeldSummary, PushSummary, Summary } from '../../api/summary.ts';
import { followChanges } from '../../api/watch.ts';
import { Icon } from '../components/icons.tsx';
import {
  Badge,
  Empty,
  ErrorNotice,
  Facts,
  Loading,
  PageHead,
  Panel,
  Revision,
  Time,
} from '../components/parts.tsx';
import { count } from '../format.ts';
import { setConnection } from '../live.ts';
import { useLoad } from '../load.ts';
import { favourites, type Remembered, recents } from '../memory.ts';
import { listed, listHref, objectHref, resources, titleOf } from '../resources.ts';
import { client, session } from '../session.ts';

export function StartPage(): JSX.Element {
  const summary = useSummary();
  if (summary.value === undefined) {
    return (
      <>
        <PageHead title="Overview" />
        {summary.error === undefined ? <Loading /> : <ErrorNotice error={summary.error} />}
      </>
    );
  }
  return <Overview summary={summary.value} reload={summary.reload} />;
}

const PAUSE_MS = 100;
/** What no object tells: the remote, the secret store, other replicas. */
const HEARTBEAT_MS = 15_000;
/** A browser has six connections to a host over HTTP/1.1. */
const MOST_HTTP1_WATCHES = 3;

function useSummary() {
  const summary = useLoad((signal) => client.summary(signal), []);
  const { reload } = summary;
  const watched = useComputed(() =>
    listed(resources.value).filter(
      ({ group, verbs }) => group === session.group && verbs.includes('watch'),
    ),
  ).value;
  useEffect(() => {
    const gone = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = (): void => {
      clearTimeout(timer);
      timer = setTimeout(reload, PAUSE_MS);
    };
    const followed = watched.slice(0, isHttp1() ? MOST_HTTP1_WATCHES : undefined);
    for (const resource of followed) follow(resource, gone.signal, changed);
    const heartbeat = setInterval(changed, HEARTBEAT_MS);
    return () => {
      gone.abort();
      clearTimeout(timer);
      clearInterval(heartbeat);
    };
  }, [watched]);
  return summary;
}

function follow(resource: Resource, signal: AbortSignal, onChange: () => void): void {
  const id = {};
  signal.addEventListener('abort', () => setConnection(id, undefined));
  const onConnection: Parameters<typeof followChanges>[0]['onConnection'] = (connection) => {
    if (!signal.aborted) setConnection(id, connection);
  };
  void followChanges({ client, resource, signal, onChange, onConnection });
}

function isHttp1(): boolean {
  const [entry] = performance.getEntriesByType('navigation');
  return entry instanceof PerformanceNavigationTiming && entry.nextHopProtocol === 'http/1.1';
}

function Overview({ summary, reload }: { summary: Summary; reload: () => void }): JSX.Element {
  const { held, degraded, problems, pushes } = summary;
  return (
    <>
      <PageHead title="Overview" />
      <Verdict summary={summary} />
      {held ? <Held held={held} onDone={reload} /> : undefined}
      <div class="columns">
        <div class="column wide">
          {degraded.count > 0 ? <Degraded degraded={degraded} /> : undefined}
          {problems !== undefined && problems.count > 0 ? (
            <Problems problems={problems} />
          ) : undefined}
          {pushes === undefined ? undefined : <Pushes items={pushes.items} />}
          <Kinds summary={summary} />
        </div>
        <div class="column">
          <Branch summary={summary} />
          <Parts summary={summary} />
          <Remembrance />
        </div>
      </div>
    </>
  );
}

/** One sentence: all is well, or what is not. */
function Verdict({ summary }: { summary: Summary }): JSX.Element {
  const troubles = troublesOf(summary);
  const isWell = troubles.length === 0;
  return (
    <section class={isWell ? 'verdict good' : 'verdict alert'} role="status">
      <span class="verdict-icon">
        <Icon name={isWell ? 'check' : 'alert'} />
      </span>
      <div>
        <h2>{isWell ? 'All is well' : `${count(troubles.length, 'thing')} to look at`}</h2>
        {isWell ? (
          <p>Every commit of the branch is applied, and every object is served as it is in git.</p>
        ) : (
          <ul>
            {troubles.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}

function troublesOf(summary: Summary): readonly string[] {
  const { branch, held, degraded, problems, secretStore, tenants, health } = summary;
  const known = new Set([
    'Ready',
    'ready',
    'Connected',
    'connected',
    'Disabled',
    'disabled',
    'synced',
    'ok',
    'off',
    'Synced',
  ]);
  return [
    ...(branch?.state === 'failing' ? [branch.message ?? 'The branch cannot be followed'] : []),
    ...(held ? [`A commit is held: ${held.message}`] : []),
    ...(degraded.count > 0
      ? [
          `${count(degraded.count, 'object is', 'objects are')} served in an older version, because the newest manifest is not valid`,
        ]
      : []),
    ...(degraded.count === 0 && problems !== undefined && problems.count > 0
      ? [`${count(problems.count, 'problem')} in files of the branch`]
      : []),
    ...(secretStore !== undefined && !known.has(secretStore.state)
      ? [`The sync with the secret store: ${secretStore.message ?? secretStore.state}`]
      : []),
    ...(tenants?.items ?? []).map(
      ({ name, problems: [first] }) =>
        `Tenant ${name}: ${first?.message ?? first?.reason ?? first?.type}`,
    ),
    ...health.checks
      .filter(
        ({ level, message }) =>
          level === 'degraded' && message !== undefined && message !== branch?.message,
      )
      .filter(() => !held && degraded.count === 0)
      .map(({ name, message }) => `${name}: ${message}`),
  ];
}

/** A held commit, and its approval for those who may. */
function Held({ held, onDone }: { held: HeldSummary; onDone: () => void }): JSX.Element {
  const { revision, message, remedy, prunes, pruneCount, mayApprove } = held;
  return (
    <Panel
      title="Held"
      class="accented"
      aside={revision === null ? undefined : <Revision id={revision} />}
    >
      <p>{message}</p>
      <p class="muted">{remedy}</p>
      {pruneCount > 0 ? (
        <details>
          <summary>{count(pruneCount, 'object')} would be removed</summary>
          <ul class="plain">
            {prunes.map(({ kind, namespace, name, path }) => (
              <li key={`${kind}/${namespace}/${name}`}>
                {kind} <strong>{[namespace, name].filter(Boolean).join('/')}</strong>{' '}
                <code>{path}</code>
              </li>
            ))}
          </ul>
        </details>
      ) : undefined}
      {mayApprove === true && revision !== null ? (
        <Approve revision={revision} onDone={onDone} />
      ) : undefined}
    </Panel>
  );
}

function Approve({ revision, onDone }: { revision: string; onDone: () => void }): JSX.Element {
  const [reason, setReason] = useState('');
  const [state, setState] = useState<{ isBusy: boolean; error?: Error }>({ isBusy: false });
  const approve = async (event: Event): Promise<void> => {
    event.preventDefault();
    setState({ isBusy: true });
    try {
      await client.approve(revision, reason);
      setState({ isBusy: false });
      onDone();
    } catch (error) {
      setState({ isBusy: false, error: error as Error });
    }
  };
  return (
    <form class="inline-form" onSubmit={(event) => void approve(event)}>
      <label>
        Reason
        <input
          required
          maxLength={1024}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
          placeholder="Goes into the log"
        />
      </label>
      <button type="submit" class="button primary" disabled={state.isBusy}>
        Approve
      </button>
      {state.error === undefined ? undefined : <ErrorNotice error={state.error} />}
    </form>
  );
}

function placeOf({ path, line, col }: Pick<DegradedObject, 'path' | 'line' | 'col'>): string {
  return [path, line, col].filter((part) => part !== undefined).join(':');
}

function Degraded({ degraded }: { degraded: Summary['degraded'] }): JSX.Element {
  return (
    <Panel title="Degraded objects" flush aside={<Badge tone="alert">{degraded.count}</Badge>}>
      <ul class="rows">
        {degraded.items.map((item) => (
          <li key={`${item.kind}/${item.namespace}/${item.name}`}>
            <a
              class="row-title"
              href={objectHref(
                { group: item.group, name: item.plural },
                { namespace: item.namespace ?? '', name: item.name },
              )}
            >
              {item.kind} {[item.namespace, item.name].filter(Boolean).join('/')}
            </a>
            <code class="place">{placeOf(item)}</code>
            <p class="message">{item.message}</p>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Problems({ problems }: { problems: NonNullable<Summary['problems']> }): JSX.Element {
  return (
    <Panel title="Problems in files" flush aside={<Badge tone="warn">{problems.count}</Badge>}>
      <ul class="rows">
        {problems.items.map((item) => (
          <li key={`${placeOf(item)}${item.message}`}>
            <code class="place">{placeOf(item)}</code>
            <p class="message">{item.message}</p>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

const MOST_PUSHES = 8;

function Pushes({ items }: { items: readonly PushSummary[] }): JSX.Element {
  return (
    <Panel title="Last pushes" flush>
      {items.length === 0 ? <Empty>No push since the start of the daemon.</Empty> : undefined}
      <ul class="rows">
        {items.slice(0, MOST_PUSHES).map(({ time, user, revision, result, lines = [] }) => (
          <li key={`${time}${revision}`}>
            <div class="row-line">
              <Badge tone={result === 'accepted' ? 'good' : 'alert'}>{result}</Badge>
              <strong>{user}</strong>
              {revision === null ? undefined : <Revision id={revision} />}
              <span class="muted end">
                <Time value={time} />
              </span>
            </div>
            {lines.length > 0 ? <pre class="lines">{lines.join('\n')}</pre> : undefined}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Kinds({ summary }: { summary: Summary }): JSX.Element {
  return (
    <Panel title="Objects" flush>
      <ul class="tiles">
        {summary.kinds
          .filter(({ group }) => group === session.group)
          .map((kind) => (
            <li key={kind.plural}>
              <a href={listHref({ group: kind.group, name: kind.plural })}>
                <span class="tile-number">{kind.objects.toLocaleString('en')}</span>
                <span class="tile-name">{titleOf({ kind: kind.kind, name: kind.plural })}</span>
                {kind.degraded > 0 ? (
                  <Badge tone="alert">{kind.degraded} degraded</Badge>
                ) : undefined}
              </a>
            </li>
          ))}
      </ul>
    </Panel>
  );
}

function Branch({ summary }: { summary: Summary }): JSX.Element | null {
  const { branch } = summary;
  if (branch === undefined) return null;
  const { state, head, commit, lastAppliedTime } = branch;
  const tone = state === 'applied' ? 'good' : state === 'held' ? 'warn' : 'alert';
  return (
    <Panel title="Branch" aside={<Badge tone={tone}>{state}</Badge>}>
      {commit === undefined ? undefined : <p class="subject">{commit.message.split('\n')[0]}</p>}
      <Facts
        rows={[
          ['Head', head === null ? 'no commit yet' : <Revision id={head} />],
          ['Author', commit?.author.name],
          ['Committed', commit === undefined ? undefined : <Time value={commit.time} />],
          ['Applied', lastAppliedTime === null ? undefined : <Time value={lastAppliedTime} />],
        ]}
      />
    </Panel>
  );
}

/** Systems beside the daemon. */
function Parts({ summary }: { summary: Summary }): JSX.Element | null {
  const { secretStore, tenants, replicas } = summary;
  if (secretStore === undefined && tenants === undefined && replicas === undefined) return null;
  return (
    <Panel title="Connected systems">
      <Facts
        rows={[
          ['Secret store', secretStore?.state],
          [
            'Tenants',
            tenants === undefined
              ? undefined
              : `${tenants.count}${tenants.items.length > 0 ? `, ${tenants.items.length} with problems` : ''}`,
          ],
          ...(replicas?.items ?? []).map(
            ({ id, version, isLeader }) =>
              [
                isLeader ? 'Leader' : 'Replica',
                `${id}${version === undefined ? '' : ` (${version})`}`,
              ] as const,
          ),
        ]}
      />
    </Panel>
  );
}

function Remembrance(): JSX.Element | null {
  const lists = [
    ['Favourites', favourites.value],
    ['Recent', recents.value.slice(0, 6)],
  ] as const;
  if (lists.every(([, list]) => list.length === 0)) return null;
  return (
    <Panel title="Yours" flush>
      {lists.map(([title, list]) =>
        list.length === 0 ? undefined : (
          <div key={title} class="list-group">
            <h3>{title}</h3>
            <ul class="links">
              {list.map((object) => (
                <li key={`${object.slug}/${object.namespace}/${object.name}`}>
                  <RememberedLink object={object} />
                </li>
              ))}
            </ul>
          </div>
        ),
      )}
    </Panel>
  );
}

function RememberedLink({ object }: { object: Remembered }): JSX.Element {
  const [name = '', ...rest] = object.slug.split('.');
  const given = rest.join('.');
  const group = given === '' ? session.group : given === 'core' ? '' : given;
  return (
    <a href={objectHref({ group, name }, object)}>
      <span>{[object.namespace, object.name].filter(Boolean).join('/')}</span>
      <span class="muted">{object.kind}</span>
    </a>
  );
}
