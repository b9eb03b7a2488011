/** Start page: whether all is well, and what is not. It follows the platform by one watch per kind. */
import type { JSX } from 'preact';
import type { DegradedObject, NamedObject, PushSummary, Summary } from '../../api/summary.ts';
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
import { count, dateTime, withShortRevisions } from '../format.ts';
import { at } from '../location.ts';
import { favourites, type Remembered, recents } from '../memory.ts';
import { listHref, named, objectHref, titleOf } from '../resources.ts';
import { session } from '../session.ts';
import { useSummary } from '../summary.ts';
import { Held } from './start-held.tsx';

export function StartPage(): JSX.Element {
  const summary = useSummary(at.value);
  if (summary.value === undefined) {
    return (
      <>
        <PageHead title="Overview" />
        {summary.error === undefined ? <Loading /> : <ErrorNotice error={summary.error} />}
      </>
    );
  }
  return <Overview summary={summary.value} />;
}

function Overview({ summary }: { summary: Summary }): JSX.Element {
  const { held, degraded, problems, pushes, conditions } = summary;
  return (
    <>
      <PageHead title="Overview" />
      <Verdict summary={summary} />
      {held ? <Held held={held} /> : undefined}
      <div class="columns">
        <div class="column wide">
          {degraded.count > 0 ? <Degraded degraded={degraded} /> : undefined}
          <Problems problems={problems} degraded={degraded} />
          {conditions !== undefined && conditions.count > 0 ? (
            <Conditions conditions={conditions} />
          ) : undefined}
          {pushes === undefined ? undefined : <Pushes items={pushes.items} />}
          <Kinds summary={summary} />
        </div>
        <div class="column">
          <Branch summary={summary} />
          {summary.past === undefined ? <Parts summary={summary} /> : undefined}
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
  const { past } = summary;
  const isPartial = summary.withheld.length > 0;
  return (
    <section class={isWell ? 'verdict good' : 'verdict alert'} role="status">
      <span class="verdict-icon">
        <Icon name={isWell ? 'check' : 'alert'} />
      </span>
      <div>
        <h2>
          {isWell
            ? past !== undefined
              ? 'All was well'
              : isPartial
                ? 'No problem in what you may see'
                : 'All is well'
            : `${count(troubles.length, 'thing')} to look at`}
        </h2>
        {isWell ? (
          <p>
            {past === undefined
              ? wellText(summary)
              : `Every object was valid on ${dateTime(past.time)}.`}
          </p>
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

/** A claim about the parts that the person may see, and no more. */
function wellText({ withheld, kinds }: Summary): string {
  if (withheld.length === 0) {
    return 'Every commit of the branch is applied, and every object is served as it is in git.';
  }
  if (kinds.length > 0) return 'Every object that you may list is served as it is in git.';
  return 'You may list no kind of object. Ask an administrator for a role. The search finds the objects that you may get.';
}

/** Reasons before their consequences. */
function troublesOf(summary: Summary): readonly string[] {
  const { branch, held, degraded, problems, secretStore, conditions, health } = summary;
  const known = [
    ...(branch?.state === 'failing' ? [branch.message ?? 'The branch cannot be followed'] : []),
    ...(held ? [`Held: ${withShortRevisions(held.message)}`] : []),
    ...(degraded.count > 0 ? [degradedText(degraded.count)] : []),
    ...(degraded.count === 0 && problems !== undefined && problems.count > 0
      ? [`${count(problems.count, 'problem')} in files of the branch`]
      : []),
    ...(summary.suspensions ?? []).map(
      ({ target, user, reason, until }) =>
        `${target} is suspended by ${user} until ${new Date(until).toLocaleString()}: ${reason}`,
    ),
    ...(secretStore?.message === undefined ? [] : [`Secret store: ${secretStore.message}`]),
    ...(conditions !== undefined && conditions.count > 0
      ? [`${count(conditions.count, 'object has', 'objects have')} conditions with a problem`]
      : []),
  ];
  if (known.length > 0) return known;
  return (health?.checks ?? []).flatMap(({ name, message }) =>
    message === undefined ? [] : [`${name}: ${message}`],
  );
}

function degradedText(number: number): string {
  return `${count(number, 'object is', 'objects are')} served in the last good version: the newest manifest is not valid`;
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
            <a class="row-title" href={linkTo(item)}>
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

function linkTo(item: NamedObject): string {
  return objectHref(named(item), { namespace: item.namespace ?? '', name: item.name });
}

function Conditions({
  conditions,
}: {
  conditions: NonNullable<Summary['conditions']>;
}): JSX.Element {
  return (
    <Panel title="Conditions" flush aside={<Badge tone="warn">{conditions.count}</Badge>}>
      <ul class="rows">
        {conditions.items.map((item) => (
          <li key={`${item.kind}/${item.namespace}/${item.name}`}>
            <a class="row-title" href={linkTo(item)}>
              {item.kind} {[item.namespace, item.name].filter(Boolean).join('/')}
            </a>
            {item.conditions.map(({ type, reason, message }) => (
              <p class="message" key={type}>
                <strong>{type}</strong> {message ?? reason}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Problems that no degraded object shows. */
function Problems({
  problems,
  degraded,
}: {
  problems: Summary['problems'] | undefined;
  degraded: Summary['degraded'];
}): JSX.Element | null {
  const shown = new Set(degraded.items.map((item) => placeOf(item)));
  const items = (problems?.items ?? []).filter((item) => !shown.has(placeOf(item)));
  if (items.length === 0) return null;
  return (
    <Panel title="Problems in files" flush aside={<Badge tone="warn">{items.length}</Badge>}>
      <ul class="rows">
        {items.map((item) => (
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
  const tone =
    state === 'past' ? 'plain' : state === 'applied' ? 'good' : state === 'held' ? 'warn' : 'alert';
  return (
    <Panel title="Branch" aside={<Badge tone={tone}>{state}</Badge>}>
      {commit === undefined ? undefined : <p class="subject">{commit.message.split('\n')[0]}</p>}
      <Facts
        rows={[
          ['Head', head === null ? 'no commit yet' : <Revision id={head} />],
          ['Author', commit?.author.name],
          ['Committed', commit?.time === undefined ? undefined : <Time value={commit.time} />],
          ['Applied', lastAppliedTime == null ? undefined : <Time value={lastAppliedTime} />],
        ]}
      />
    </Panel>
  );
}

/** Systems beside the daemon. */
function Parts({ summary }: { summary: Summary }): JSX.Element | null {
  const { secretStore, replicas, withheld } = summary;
  const stores = secretStore === undefined ? [] : [secretStore, ...(secretStore.stores ?? [])];
  return (
    <Panel title="Connected systems">
      <Facts
        rows={[
          ...stores.map(
            ({ name, state }) =>
              [name === 'default' ? 'Secret store' : `Store ${name}`, state] as const,
          ),
          ...(replicas?.items ?? []).map(
            ({ id, version }) =>
              [
                id === replicas?.leader ? 'Leader' : 'Replica',
                `${id}${version === undefined ? '' : ` (${version})`}`,
              ] as const,
          ),
          ['Daemon', `gitplane ${summary.version}`],
        ]}
      />
      {withheld.length > 0 ? (
        <p class="muted">
          You have no right to see: {withheld.map(({ section }) => section).join(', ')}.
        </p>
      ) : undefined}
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
