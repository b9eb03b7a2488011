/** One object: fields, manifest, history, events, and the editor, as tabs. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { KubeObject, Resource } from '../../api/objects.ts';
import { Icon } from '../components/icons.tsx';
import { lazy } from '../components/lazy.tsx';
import { Badge, ErrorNotice, Loading, Notice, PageHead } from '../components/parts.tsx';
import { healthOf, READY } from '../health.ts';
import { useLiveObject } from '../live.ts';
import { at, href, query, segments } from '../location.ts';
import { isFavourite, type Remembered, toggleFavourite, visited } from '../memory.ts';
import { bySlug, listHref, resources, titleOf } from '../resources.ts';
import { DegradedObject } from './object-degraded.tsx';
import { ObjectFields } from './object-fields.tsx';
import type { ObjectTabProps } from './object-tab.ts';

const Editor = lazy(async () => (await import('./object-edit.tsx')).ObjectEdit);
const History = lazy(async () => (await import('./object-history.tsx')).ObjectHistory);
const Events = lazy(async () => (await import('./object-events.tsx')).ObjectEvents);
const Source = lazy(async () => (await import('./object-source.tsx')).ObjectSourceView);

export function ObjectPage({ path }: { path: readonly string[] }): JSX.Element {
  const [slug = '', place = '-', name = ''] = path;
  const resource = bySlug(resources.value, slug);
  if (resources.value.length === 0) return <Loading />;
  if (resource === undefined) {
    return (
      <>
        <PageHead title={name} />
        <NoKind slug={slug} />
      </>
    );
  }
  const namespace = place === '-' ? '' : place;
  return (
    <OneObject
      key={`${slug}/${namespace}/${name}`}
      resource={resource}
      of={{ slug, kind: resource.kind, namespace, name }}
    />
  );
}

/** The address names a kind that the API does not serve. */
export function NoKind({ slug }: { slug: string }): JSX.Element {
  return (
    <Notice tone="alert" title={`No kind is called ${slug}`}>
      <p>
        <a href={href(['objects'])}>All kinds of objects</a>
      </p>
    </Notice>
  );
}

function OneObject({ resource, of }: { resource: Resource; of: Remembered }): JSX.Element {
  const { object, error } = useLiveObject(resource, of, at.value);
  const isFound = object !== undefined;
  useEffect(() => {
    if (isFound) visited(of);
  }, [isFound]);
  return (
    <>
      <Head resource={resource} of={of} object={object} />
      <Tabs resource={resource} />
      {error === undefined ? undefined : <ErrorNotice error={error} />}
      <DegradedObject resource={resource} of={of} object={object} />
      <Tab resource={resource} of={of} object={object} isMissing={error !== undefined} />
    </>
  );
}

function Head({ resource, of, object }: ObjectTabProps): JSX.Element {
  const { namespace, name } = of;
  const isStarred = isFavourite(of);
  const displayName = object?.spec?.['displayName'];
  return (
    <PageHead
      title={name}
      documentTitle={`${name}, ${resource.kind}`}
      above={
        <nav class="crumbs" aria-label="Path">
          <a href={listHref(resource)}>{titleOf(resource)}</a>
          {namespace === '' ? undefined : <a href={listHref(resource, namespace)}>{namespace}</a>}
        </nav>
      }
      below={
        <div class="row-line subtitle">
          {typeof displayName === 'string' ? <span class="muted">{displayName}</span> : undefined}
          <State object={object} />
        </div>
      }
      actions={
        <button
          type="button"
          class="icon-button"
          aria-pressed={isStarred}
          aria-label="Favourite"
          onClick={() => toggleFavourite(of)}
        >
          <Icon name="star" filled={isStarred} />
        </button>
      }
    />
  );
}

function State({ object }: { object: KubeObject | undefined }): JSX.Element | null {
  if (object === undefined) return null;
  if (object.metadata.deletionTimestamp !== undefined) {
    return <Badge tone="warn">being deleted</Badge>;
  }
  const health = healthOf(object);
  return health === READY ? null : <Badge tone="alert">{health}</Badge>;
}

const TABS = [
  { id: '', label: 'Overview', needs: undefined },
  { id: 'yaml', label: 'YAML', needs: undefined },
  { id: 'history', label: 'History', needs: 'history' },
  { id: 'events', label: 'Events', needs: undefined },
  { id: 'edit', label: 'Edit', needs: 'rollback' },
] as const;

function Tabs({ resource }: { resource: Resource }): JSX.Element {
  const current = query.value.get('tab') ?? '';
  const isPast = at.value !== '';
  return (
    <nav class="tabs" aria-label="Object">
      {TABS.filter(({ needs }) => needs === undefined || resource.subresources.includes(needs))
        .filter(({ id }) => !isPast || !['edit', 'events'].includes(id))
        .map(({ id, label }) => (
          <a
            key={id}
            href={href(segments.value, { tab: id })}
            aria-current={current === id ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
    </nav>
  );
}

function Tab(props: ObjectTabProps & { readonly isMissing: boolean }): ComponentChildren {
  const tab = query.value.get('tab') ?? '';
  // An object that is gone has a history.
  if (tab === 'history') return <History {...props} />;
  if (props.object === undefined) return props.isMissing ? null : <Loading />;
  if (tab === 'yaml') return <Source {...props} />;
  if (tab === 'events') return <Events {...props} />;
  if (tab === 'edit') return <Editor {...props} />;
  return <ObjectFields {...props} object={props.object} />;
}
