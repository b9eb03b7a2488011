/** Objects of a kind: columns of the kind, filters, any number of rows. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Column, Resource } from '../../api/objects.ts';
import type { LiveRow } from '../../api/rows.ts';
import type { LiveList } from '../../api/watch.ts';
import { Icon } from '../components/icons.tsx';
import { lazy } from '../components/lazy.tsx';
import { NotAllowed } from '../components/not-allowed.tsx';
import { Badge, ErrorNotice, Loading, PageHead } from '../components/parts.tsx';
import { type VirtualColumn, VirtualTable } from '../components/virtual-table.tsx';
import { ageOf, count } from '../format.ts';
import { READY } from '../health.ts';
import { useLiveList } from '../live.ts';
import { at, go, href, query, setQuery } from '../location.ts';
import { isNarrow } from '../media.ts';
import {
  bySlug,
  DEFAULT_NAMESPACE,
  listed,
  listHref,
  objectHref,
  resources,
  slugOf,
  titleOf,
} from '../resources.ts';
import { useRights } from '../rights.ts';
import { NoKind } from './object.tsx';

export function ObjectListPage({ path: [slug] }: { path: readonly string[] }): JSX.Element {
  const all = listed(resources.value);
  const resource = slug === undefined ? all[0] : bySlug(all, slug);
  if (all.length === 0) return <Loading />;
  if (resource !== undefined && query.value.has('new')) return <NewObject resource={resource} />;
  return (
    <div class="fill">
      <PageHead
        title={resource === undefined ? 'Objects' : titleOf(resource)}
        actions={resource === undefined ? undefined : <NewButton resource={resource} />}
      />
      <KindTabs all={all} current={resource} />
      {resource === undefined ? (
        <NoKind slug={slug ?? ''} />
      ) : (
        <Objects resource={resource} key={slugOf(resource)} />
      )}
    </div>
  );
}

const Create = lazy(async () => (await import('./object-edit.tsx')).ObjectCreate);

function NewObject({ resource }: { resource: Resource }): JSX.Element {
  return (
    <>
      <PageHead
        title={`New ${resource.kind}`}
        above={
          <nav class="crumbs" aria-label="Path">
            <a href={listHref(resource)}>{titleOf(resource)}</a>
          </nav>
        }
      />
      <Create resource={resource} namespace={query.value.get('namespace') ?? undefined} />
    </>
  );
}

/** Only kinds whose objects are in git, and only in the present. */
function NewButton({ resource }: { resource: Resource }): JSX.Element | null {
  const isInGit = resource.verbs.includes('create') && resource.subresources.includes('rollback');
  const namespace = query.value.get('namespace') ?? undefined;
  const place = resource.namespaced ? (namespace ?? DEFAULT_NAMESPACE) : '';
  const rights = useRights(place);
  if (!isInGit || at.value !== '' || rights === undefined) return null;
  if (!rights.may('create', resource)) {
    return (
      <NotAllowed verb="create" resource={resource} of={{ namespace: place }}>
        You may not create {titleOf(resource).toLowerCase()}
        {place === '' ? '.' : ` in the namespace ${place}.`}
      </NotAllowed>
    );
  }
  return (
    <a class="button" href={href(['objects', slugOf(resource)], { new: '1', namespace })}>
      <Icon name="plus" /> New
    </a>
  );
}

function KindTabs({
  all,
  current,
}: {
  all: readonly Resource[];
  current: Resource | undefined;
}): JSX.Element {
  return (
    <nav class="tabs" aria-label="Kinds">
      {all.map((resource) => (
        <a
          key={slugOf(resource)}
          href={listHref(resource)}
          aria-current={resource === current ? 'page' : undefined}
        >
          {titleOf(resource)}
        </a>
      ))}
    </nav>
  );
}

/** In a URL they mean another path. */
const NO_NAMES = ['.', '..'];

function Objects({ resource }: { resource: Resource }): JSX.Element {
  const namespace = resource.namespaced ? (query.value.get('namespace') ?? undefined) : undefined;
  const labelSelector = query.value.get('labels') ?? undefined;
  const hasNoName = namespace !== undefined && NO_NAMES.includes(namespace);
  const list = useLiveList(hasNoName ? undefined : resource, {
    ...{ namespace, labelSelector },
    moment: at.value,
  });
  const rows = useShownRows(list);
  const columns = useMemo(
    () => columnsOf(resource, list.columns, isNarrow.value),
    [resource, list.columns, isNarrow.value],
  );
  const sort = query.value.get('sort') ?? '';
  const sortedBy =
    sort === ''
      ? undefined
      : { column: sort.replace(/^-/, ''), isDescending: sort.startsWith('-') };
  return (
    <>
      <Filters resource={resource} list={list} shown={rows.length} />
      {hasNoName ? (
        <ErrorNotice error={new Error(`No namespace is called ${namespace}`)} />
      ) : list.error !== undefined ? (
        <ErrorNotice error={list.error} />
      ) : (
        <VirtualTable
          label={titleOf(resource)}
          columns={columns}
          rows={rows}
          onOpen={({ metadata }) =>
            go(objectHref(resource, { namespace: metadata.namespace ?? '', name: metadata.name }))
          }
          {...(sortedBy === undefined ? {} : { sortedBy })}
          onSort={(column) => setQuery({ sort: nextSort(sort, column) })}
        />
      )}
    </>
  );
}

/** Ascending, descending, the order of the API. */
function nextSort(sort: string, column: string): string | undefined {
  if (sort === column) return `-${column}`;
  return sort === `-${column}` ? undefined : column;
}

function Filters(props: { resource: Resource; list: LiveList; shown: number }): JSX.Element {
  const { resource, list, shown } = props;
  const total = list.rows.length + list.remaining;
  const isFiltered = shown !== list.rows.length;
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span class="visually-hidden">Filter by text</span>
        <input
          type="search"
          placeholder="Filter"
          value={query.value.get('filter') ?? ''}
          onInput={(event) => setQuery({ filter: event.currentTarget.value })}
        />
      </label>
      {resource.namespaced ? (
        <label>
          <span class="visually-hidden">Namespace</span>
          <input
            placeholder="Namespace"
            value={query.value.get('namespace') ?? ''}
            onChange={(event) => setQuery({ namespace: event.currentTarget.value.trim() })}
          />
        </label>
      ) : undefined}
      <label>
        <span class="visually-hidden">Label selector</span>
        <input
          placeholder="Labels: tier=one"
          value={query.value.get('labels') ?? ''}
          onChange={(event) => setQuery({ labels: event.currentTarget.value.trim() })}
        />
      </label>
      <label>
        <span class="visually-hidden">State</span>
        <select
          value={query.value.get('state') ?? ''}
          onChange={(event) => setQuery({ state: event.currentTarget.value })}
        >
          <option value="">Any state</option>
          <option value="degraded">Degraded</option>
          <option value="deleting">Being deleted</option>
        </select>
      </label>
      <p class="filter-count" role="status">
        {list.connection === 'loading' && total === 0
          ? 'Loading…'
          : isFiltered
            ? `${shown.toLocaleString('en')} of ${count(total, 'object')}`
            : count(total, 'object')}
      </p>
    </form>
  );
}

const HEALTH = 'Health';

/** In the order of the API without a wish. Lists that are sorted follow changes more rarely. */
function useShownRows(live: LiveList): readonly LiveRow[] {
  const filter = (query.value.get('filter') ?? '').trim().toLowerCase();
  const state = query.value.get('state') ?? '';
  const sort = query.value.get('sort') ?? '';
  const list = useSlowed(live, sort === '' ? 0 : BETWEEN_SORTS_MS);
  return useMemo(() => {
    const { columns, rows } = list;
    const health = columns.findIndex(({ name }) => name === HEALTH);
    const isFiltered = filter !== '' || state !== '';
    const shown = isFiltered
      ? rows.filter((row) => matchesText(row, filter) && matchesState(row, state, health))
      : rows;
    const at = columns.findIndex(({ name }) => name === sort.replace(/^-/, ''));
    return at < 0 ? shown : sorted(shown, at, columns[at]?.type === 'date', sort.startsWith('-'));
  }, [list, filter, state, sort]);
}

const BETWEEN_SORTS_MS = 1000;

/** The newest list, but not another one within some milliseconds. */
function useSlowed(list: LiveList, betweenMs: number): LiveList {
  const [shown, setShown] = useState(list);
  const since = useRef(0);
  useEffect(() => {
    if (betweenMs === 0) return;
    const wait = Math.max(0, since.current + betweenMs - performance.now());
    const show = (): void => {
      since.current = performance.now();
      setShown(list);
    };
    if (wait === 0) return show();
    const timer = setTimeout(show, wait);
    return () => clearTimeout(timer);
  }, [list, betweenMs]);
  const isOther = shown.rows !== list.rows;
  return betweenMs === 0 || isOther ? list : shown;
}

/** Values are computed once per row and not once per comparison. */
function sorted(
  rows: readonly LiveRow[],
  at: number,
  isDate: boolean,
  isDescending: boolean,
): readonly LiveRow[] {
  const valued = rows.map((row) => ({ row, value: sortValue(row, at, isDate) }));
  const sign = isDescending ? -1 : 1;
  valued.sort((a, b) => sign * compare(a.value, b.value));
  return valued.map(({ row }) => row);
}

function matchesText({ key, cells }: LiveRow, filter: string): boolean {
  if (filter === '' || key.toLowerCase().includes(filter)) return true;
  return cells.some((cell) => typeof cell === 'string' && cell.toLowerCase().includes(filter));
}

function matchesState({ cells, metadata }: LiveRow, state: string, health: number): boolean {
  if (state === 'degraded') return health >= 0 && cells[health] !== READY;
  return state !== 'deleting' || metadata.deletionTimestamp !== undefined;
}

/** Ages sort by the time: the youngest first. */
function sortValue({ cells, metadata }: LiveRow, at: number, isDate: boolean): string | number {
  if (isDate) return -Date.parse(metadata.creationTimestamp ?? '');
  const value = cells[at];
  return typeof value === 'number' ? value : String(value ?? '');
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [left, right] = [String(a), String(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

function columnsOf(
  resource: Resource,
  columns: readonly Column[],
  isNarrow: boolean,
): readonly VirtualColumn<LiveRow>[] {
  const shown = columns
    .map((column, at) => ({ column, at }))
    .filter(({ column, at }) => at === 0 || column.name === HEALTH || column.priority === 0);
  const fitting = isNarrow
    ? shown.filter(({ column, at }) => at === 0 || column.type === 'date')
    : shown;
  const health = isNarrow ? columns.findIndex(({ name }) => name === HEALTH) : -1;
  return fitting.flatMap(({ column, at }): VirtualColumn<LiveRow>[] => {
    const own: VirtualColumn<LiveRow> = {
      name: column.name,
      description: column.description,
      width: widthOf(column, at, isNarrow),
      isNumber: column.type === 'integer' || column.type === 'number',
      cell: (row) => cellOf(resource, column, { row, at, health }),
    };
    if (at !== 0 || !resource.namespaced) return [own];
    const namespace: VirtualColumn<LiveRow> = {
      name: 'Namespace',
      width: isNarrow ? 'minmax(0, 2fr)' : 'minmax(5rem, 1fr)',
      cell: ({ metadata }) => metadata.namespace,
    };
    return [own, namespace];
  });
}

function widthOf({ name, type }: Column, at: number, isNarrow: boolean): string {
  if (at === 0) return isNarrow ? 'minmax(0, 3fr)' : 'minmax(7rem, 1.5fr)';
  if (type === 'date' && isNarrow) return '4rem';
  if (name === HEALTH) return '8rem';
  if (type === 'date' || type === 'integer') return '5rem';
  return 'minmax(5rem, 1.5fr)';
}

function cellOf(
  resource: Resource,
  column: Column,
  of: {
    readonly row: LiveRow;
    readonly at: number;
    /** Place of the health that the name has a mark for; negative: none. */
    readonly health: number;
  },
): ComponentChildren {
  const { row, at, health } = of;
  const value = row.cells[at];
  const { metadata } = row;
  if (at === 0) {
    const { name, namespace = '' } = metadata;
    const bad = health < 0 || row.cells[health] === READY ? undefined : String(row.cells[health]);
    return (
      <>
        {bad === undefined ? undefined : <Unhealthy health={bad} />}
        <a href={objectHref(resource, { namespace, name })}>{name}</a>
      </>
    );
  }
  if (column.name === HEALTH) {
    return value === READY ? undefined : <Badge tone="alert">{String(value)}</Badge>;
  }
  if (column.type === 'date') return ageOf(metadata.creationTimestamp, value);
  return value === null || value === undefined ? '' : String(value);
}

function Unhealthy({ health }: { health: string }): JSX.Element {
  return (
    <span class="unhealthy" title={health}>
      <Icon name="alert" />
      <span class="visually-hidden">{health} </span>
    </span>
  );
}
