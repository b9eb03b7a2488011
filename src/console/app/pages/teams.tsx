/** Teams with their members. */
import type { JSX } from 'preact';
import type { KubeObject, Resource } from '../../api/objects.ts';
import { Empty, ErrorNotice, Loading, Panel } from '../components/parts.tsx';
import { count } from '../format.ts';
import { useLoad } from '../load.ts';
import { objectHref, resources } from '../resources.ts';
import { client } from '../session.ts';

const MOST_SHOWN = 500;
const MOST_MEMBERS = 50;

export function TeamsTab(): JSX.Element {
  const resource = resources.value.find(({ name }) => name === 'teams');
  return resource === undefined ? <Loading /> : <Teams resource={resource} />;
}

function Teams({ resource }: { resource: Resource }): JSX.Element {
  const list = useLoad(
    (signal) => client.list(resource, { limit: MOST_SHOWN, signal }),
    [resource],
  );
  const users = resources.value.find(({ name }) => name === 'users');
  if (list.error !== undefined) return <ErrorNotice error={list.error} />;
  if (list.value === undefined) return <Loading />;
  const { items, metadata } = list.value;
  return (
    <Panel title={count(items.length + (metadata.remainingItemCount ?? 0), 'team')} flush>
      {items.length === 0 ? <Empty>There are none.</Empty> : undefined}
      <ul class="rows">
        {items.map((team) => (
          <li key={team.metadata.name}>
            <div class="row-line">
              <a
                class="row-title"
                href={objectHref(resource, { namespace: '', name: team.metadata.name })}
              >
                {team.metadata.name}
              </a>
              <span class="muted">{String(team.spec?.['displayName'] ?? '')}</span>
            </div>
            <Members team={team} users={users} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Members({ team, users }: { team: KubeObject; users: Resource | undefined }): JSX.Element {
  const names = textsOf(team.spec?.['users']);
  const groups = textsOf(team.spec?.['groups']);
  return (
    <p>
      {names.length === 0 ? <span class="muted">No users</span> : undefined}
      {names.slice(0, MOST_MEMBERS).map((name, i) => (
        <span key={name}>
          {i === 0 ? '' : ', '}
          {users === undefined ? (
            name
          ) : (
            <a href={objectHref(users, { namespace: '', name })}>{name}</a>
          )}
        </span>
      ))}
      {names.length > MOST_MEMBERS ? ` and ${names.length - MOST_MEMBERS} more` : ''}
      {groups.length === 0 ? undefined : (
        <span class="muted"> · groups of the provider: {groups.join(', ')}</span>
      )}
    </p>
  );
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
