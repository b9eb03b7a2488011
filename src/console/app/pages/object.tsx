/** One object: its fields, its manifest, its history. */
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Condition, KubeObject, Resource } from '../../api/objects.ts';
import { Icon } from '../components/icons.tsx';
import { Badge, ErrorNotice, Facts, Loading, PageHead, Panel, Time } from '../components/parts.tsx';
import { useLoad } from '../load.ts';
import { isFavourite, type Remembered, toggleFavourite, visited } from '../memory.ts';
import { bySlug, listHref, resources, titleOf } from '../resources.ts';
import { client } from '../session.ts';

export function ObjectPage({ path }: { path: readonly string[] }): JSX.Element {
  const [slug = '', place = '-', name = ''] = path;
  const resource = bySlug(resources.value, slug);
  if (resources.value.length === 0) return <Loading />;
  if (resource === undefined) return <ErrorNotice error={new Error(`No kind is called ${slug}`)} />;
  const namespace = place === '-' ? '' : place;
  return (
    <OneObject
      key={`${slug}/${namespace}/${name}`}
      resource={resource}
      of={{ slug, kind: resource.kind, namespace, name }}
    />
  );
}

function OneObject({ resource, of }: { resource: Resource; of: Remembered }): JSX.Element {
  const { namespace, name } = of;
  const { value, error } = useLoad((signal) => client.get(resource, of, { signal }), []);
  const isFound = value !== undefined;
  useEffect(() => {
    if (isFound) visited(of);
  }, [isFound]);
  const isStarred = isFavourite(of);
  return (
    <>
      <PageHead
        title={name}
        above={
          <nav class="crumbs" aria-label="Path">
            <a href={listHref(resource)}>{titleOf(resource)}</a>
            {namespace === '' ? undefined : <a href={listHref(resource, namespace)}>{namespace}</a>}
          </nav>
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
      {error !== undefined ? <ErrorNotice error={error} /> : undefined}
      {value === undefined ? error === undefined && <Loading /> : <Details object={value} />}
    </>
  );
}

function Details({ object }: { object: KubeObject }): JSX.Element {
  const { metadata, status } = object;
  return (
    <div class="columns">
      <div class="column wide">
        <Panel title="Specification">
          <pre>{JSON.stringify(object.spec ?? {}, null, 2)}</pre>
        </Panel>
      </div>
      <div class="column">
        <Panel title="Metadata">
          <Facts
            rows={[
              [
                'Created',
                metadata.creationTimestamp && <Time value={metadata.creationTimestamp} />,
              ],
              ['Generation', metadata.generation],
            ]}
          />
        </Panel>
        {(status?.conditions?.length ?? 0) > 0 ? (
          <Conditions conditions={status?.conditions ?? []} />
        ) : undefined}
      </div>
    </div>
  );
}

function Conditions({ conditions }: { conditions: readonly Condition[] }): JSX.Element {
  return (
    <Panel title="Conditions" flush>
      <ul class="rows">
        {conditions.map(({ type, status, message }) => (
          <li key={type}>
            <div class="row-line">
              <strong>{type}</strong>
              <Badge tone={status === 'True' ? 'good' : 'alert'}>{status}</Badge>
            </div>
            {message === undefined ? undefined : <p class="message">{message}</p>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
