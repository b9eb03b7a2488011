/** Tenants: state of the endpoint sync, objects of both ends, and a playground for endpoint patches. */
import type { JSX } from 'preact';
import type { TenantSync } from '../../../client/index.ts';
import type { Condition, KubeObject, Resource } from '../../api/objects.ts';
import { NotFound } from '../components/not-found.tsx';
import {
  Badge,
  Empty,
  ErrorNotice,
  Loading,
  PageHead,
  Panel,
  Time,
  type Tone,
} from '../components/parts.tsx';
import { count } from '../format.ts';
import { useLoad } from '../load.ts';
import { href } from '../location.ts';
import { objectHref, resources } from '../resources.ts';
import { client } from '../session.ts';
import { Playground } from './playground.tsx';

const MOST_SHOWN = 500;

export function TenantsPage({ path: [name, part] }: { path: readonly string[] }): JSX.Element {
  const resource = resources.value.find((one) => one.name === 'tenants');
  if (resource === undefined) return <Loading />;
  if (name === undefined) return <TenantList resource={resource} />;
  if (part !== undefined && part !== 'playground') return <NotFound />;
  return <TenantView resource={resource} name={name} isPlayground={part === 'playground'} />;
}

function TenantList({ resource }: { resource: Resource }): JSX.Element {
  const list = useLoad(
    (signal) => client.list(resource, { limit: MOST_SHOWN, signal }),
    [resource],
  );
  return (
    <>
      <PageHead title="Tenants" />
      {list.error === undefined ? undefined : <ErrorNotice error={list.error} />}
      {list.value === undefined && list.error === undefined ? <Loading /> : undefined}
      {list.value === undefined ? undefined : (
        <Panel title={count(list.value.items.length, 'tenant')} flush>
          {list.value.items.length === 0 ? <NoTenants /> : undefined}
          <ul class="rows">
            {list.value.items.map((tenant) => (
              <li key={tenant.metadata.name}>
                <div class="row-line">
                  <a class="row-title" href={href(['tenants', tenant.metadata.name])}>
                    {tenant.metadata.name}
                  </a>
                  <Conditions of={tenant} />
                </div>
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

/** The way to the first tenant: a file, and the commands that push it. */
const FIRST_TENANT = `sync:
  toHost:
    endpoints:
      enabled: true
      patches:
        - path: metadata.labels["team"]
          expression: '"team-" + value'
`;

function NoTenants(): JSX.Element {
  const url = `${location.origin}/git/platform.git`;
  return (
    <div class="panel-body stack">
      <p>
        There are none yet. A tenant is a cluster whose Endpoints and Services are synced to the
        control plane. Its file in the repository is <code>tenants/&lt;name&gt;/vcluster.yaml</code>
        :
      </p>
      <pre>{FIRST_TENANT}</pre>
      <p>Push the file, and the tenant is listed here with its sync and a playground:</p>
      <pre>{`git clone ${url} platform && cd platform
mkdir -p tenants/blue && $EDITOR tenants/blue/vcluster.yaml
git add tenants && git commit -m "Tenant blue" && git push`}</pre>
    </div>
  );
}

function Conditions({ of }: { of: KubeObject }): JSX.Element {
  const conditions = of.status?.conditions ?? [];
  return (
    <>
      {conditions.map((condition) => (
        <Badge key={condition.type} tone={toneOf(condition)}>
          {condition.reason ?? condition.type}
        </Badge>
      ))}
    </>
  );
}

function toneOf({ severity, status }: Condition): Tone {
  if (severity === 'Error') return 'alert';
  if (severity === 'Warning') return 'warn';
  return status === 'True' ? 'good' : 'plain';
}

function TenantView(props: {
  resource: Resource;
  name: string;
  isPlayground: boolean;
}): JSX.Element {
  const { resource, name, isPlayground } = props;
  const ref = { namespace: '', name };
  const tenant = useLoad((signal) => client.get(resource, ref, { signal }), [resource, name]);
  return (
    <>
      <PageHead
        title={name}
        documentTitle={`${name} · Tenants`}
        above={
          <nav class="crumbs" aria-label="Path">
            <a href={href(['tenants'])}>Tenants</a>
          </nav>
        }
        actions={<a href={objectHref(resource, ref)}>Object of the tenant</a>}
      />
      <nav class="tabs" aria-label="Parts of the tenant">
        <a href={href(['tenants', name])} aria-current={isPlayground ? undefined : 'page'}>
          Sync
        </a>
        <a
          href={href(['tenants', name, 'playground'])}
          aria-current={isPlayground ? 'page' : undefined}
        >
          Playground
        </a>
      </nav>
      {tenant.error === undefined ? undefined : <ErrorNotice error={tenant.error} />}
      {tenant.value === undefined ? undefined : isPlayground ? (
        <Playground resource={resource} tenant={tenant.value} />
      ) : (
        <SyncState resource={resource} tenant={tenant.value} />
      )}
    </>
  );
}

type SyncItem = TenantSync['items'][number];

const STATES: Readonly<Record<string, Tone>> = {
  Synced: 'good',
  Skipped: 'plain',
  Stale: 'warn',
  Failed: 'alert',
};

function SyncState({ resource, tenant }: { resource: Resource; tenant: KubeObject }): JSX.Element {
  const { name } = tenant.metadata;
  const path = `${client.objectPath(resource, { namespace: '', name })}/sync`;
  const state = useLoad((signal) => client.json<TenantSync>(path, { signal }), [path]);
  const conditions = tenant.status?.conditions ?? [];
  return (
    <div class="stack">
      {conditions.length === 0 ? undefined : (
        <Panel title="State" flush>
          <ul class="rows">
            {conditions.map((condition) => (
              <li key={condition.type}>
                <div class="row-line">
                  <Badge tone={toneOf(condition)}>{condition.type}</Badge>
                  <span class="row-title">{condition.reason}</span>
                </div>
                <p class="message">{condition.message}</p>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {state.error === undefined ? undefined : <ErrorNotice error={state.error} />}
      {state.value === undefined ? undefined : <SyncTable items={state.value.items} />}
    </div>
  );
}

function SyncTable({ items }: { items: readonly SyncItem[] }): JSX.Element {
  return (
    <Panel title={count(items.length, 'object')} flush>
      {items.length === 0 ? <Empty>No object is synced.</Empty> : undefined}
      <div class="scroll">
        <table class="grid">
          <thead>
            <tr>
              {['Kind', 'In the tenant', 'On the control plane', 'State', 'Since'].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items
              .slice(0, MOST_SHOWN)
              .map(({ kind, source, target, state, reason, message, since }) => (
                <tr key={`${kind}/${source.namespace}/${source.name}`}>
                  <td data-label="Kind">{kind}</td>
                  <th scope="row">
                    {source.namespace}/{source.name}
                  </th>
                  <td data-label="On the control plane">
                    {target.namespace}/{target.name}
                  </td>
                  <td data-label="State">
                    <Badge tone={STATES[state] ?? 'plain'}>{state}</Badge>
                    {reason === undefined ? undefined : <div class="muted">{reason}</div>}
                    {message === undefined ? undefined : <div class="message">{message}</div>}
                  </td>
                  <td data-label="Since" class="nowrap">
                    <Time value={since} />
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
