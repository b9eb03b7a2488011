/** Overview of an object: its fields with their meaning, where it stands in git, and its conditions. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Blame, Condition, KubeObject, Resource } from '../../api/objects.ts';
import { FieldTree } from '../components/field-tree.tsx';
import { NotAllowed } from '../components/not-allowed.tsx';
import {
  Badge,
  Empty,
  ErrorNotice,
  Facts,
  Panel,
  Revision,
  Time,
  type Tone,
} from '../components/parts.tsx';
import { isBad } from '../health.ts';
import { useLoad } from '../load.ts';
import { at, href, momentOf } from '../location.ts';
import type { Remembered } from '../memory.ts';
import { slugOf } from '../resources.ts';
import { ACCESS_REVIEWS, useRights } from '../rights.ts';
import { fieldSchema, type Schema, schemaOf } from '../schema.ts';
import { client } from '../session.ts';
import { ShareAccess } from './object-share.tsx';

interface FieldsProps {
  readonly resource: Resource;
  readonly of: Remembered;
  readonly object: KubeObject;
}

export function ObjectFields({ resource, of, object }: FieldsProps): JSX.Element {
  const schema = useLoad(() => schemaOf(resource.kind), [resource]).value;
  const [isBlamed, setBlamed] = useState(false);
  const [isSharing, setSharing] = useState(false);
  const rights = useRights(of.namespace);
  const isPatched = at.value === '' && resource.verbs.includes('patch');
  const hasRules = fieldSchema(fieldSchema(schema, 'spec'), 'access')?.type === 'array';
  const hasBlame = resource.subresources.includes('blame') && at.value === '';
  return (
    <div class="columns">
      <div class="column wide">
        {isSharing ? (
          <ShareAccess
            {...{ resource, of, object }}
            mayClone={rights?.mayClone === true}
            onClose={() => setSharing(false)}
          />
        ) : undefined}
        <Specification
          {...{ object, schema }}
          blame={
            hasBlame ? (
              <label class="toggle">
                <input type="checkbox" checked={isBlamed} onChange={() => setBlamed(!isBlamed)} />
                Who set it
              </label>
            ) : undefined
          }
          blamed={isBlamed ? { resource, of } : undefined}
        />
        <Status object={object} schema={schema} />
      </div>
      <div class="column">
        <Metadata {...{ resource, of, object }} />
        <Access
          {...{ resource, of, object }}
          onShare={isPatched && hasRules ? () => setSharing(true) : undefined}
        />
        <Conditions conditions={object.status?.conditions ?? []} />
        <Labels title="Labels" values={object.metadata.labels} />
        <Labels title="Annotations" values={object.metadata.annotations} />
      </div>
    </div>
  );
}

/** Fields of kinds without `spec`, such as rules of a role. */
const HEAD = ['apiVersion', 'kind', 'metadata', 'status'];

function Specification(props: {
  readonly object: KubeObject;
  readonly schema: Schema | undefined;
  readonly blame: JSX.Element | undefined;
  readonly blamed: Pick<FieldsProps, 'resource' | 'of'> | undefined;
}): JSX.Element {
  const { object, schema, blame, blamed } = props;
  const found = useLoad<Blame | undefined>(
    async () => (blamed === undefined ? undefined : await client.blame(blamed.resource, blamed.of)),
    [blamed === undefined, object.metadata.resourceVersion],
  );
  const { spec } = object;
  const others = Object.fromEntries(
    Object.entries(object).filter(([name]) => !HEAD.includes(name)),
  );
  const shown = spec ?? others;
  return (
    <Panel title="Specification" aside={blame}>
      {found.error === undefined ? undefined : <ErrorNotice error={found.error} />}
      {Object.keys(shown).length === 0 ? (
        <Empty>It has no fields.</Empty>
      ) : (
        <FieldTree
          value={shown}
          schema={spec === undefined ? schema : fieldSchema(schema, 'spec')}
          path={spec === undefined ? '' : 'spec'}
          blame={blamed === undefined ? undefined : found.value}
        />
      )}
    </Panel>
  );
}

function Status({
  object,
  schema,
}: {
  object: KubeObject;
  schema: Schema | undefined;
}): JSX.Element | null {
  const { conditions: _shown, ...rest } = object.status ?? {};
  if (Object.keys(rest).length === 0) return null;
  return (
    <Panel title="Status">
      <FieldTree
        value={rest}
        schema={fieldSchema(schema, 'status')}
        path="status"
        blame={undefined}
      />
    </Panel>
  );
}

function TeamTimeline({ name }: { name: string }): JSX.Element {
  return <a href={href(['history'], { team: name })}>The team and what it owns</a>;
}

function Access({
  resource,
  of,
  object,
  onShare,
}: FieldsProps & {
  /** Undefined: the object takes no access rules. */
  readonly onShare: (() => void) | undefined;
}): JSX.Element {
  const rights = useRights(of.namespace);
  const asked = { verb: 'get', kind: slugOf(resource), namespace: of.namespace, name: of.name };
  return (
    <Panel title="Access">
      <p class="row-line">
        {rights?.may('create', ACCESS_REVIEWS) === true ? (
          <a href={href(['access', 'who'], asked)}>Who may read it</a>
        ) : (
          <a href={href(['access'], asked)}>Why you may read it</a>
        )}
        {onShare === undefined || rights === undefined ? undefined : rights.may(
            'patch',
            resource,
            object,
          ) ? (
          <button type="button" class="button small end" onClick={onShare}>
            Give access
          </button>
        ) : (
          <NotAllowed verb="patch" resource={resource} of={of}>
            You may not give access to it.
          </NotAllowed>
        )}
      </p>
    </Panel>
  );
}

function Metadata({ resource, of, object }: FieldsProps): JSX.Element {
  const { creationTimestamp, deletionTimestamp, generation, uid } = object.metadata;
  const hasSource = resource.subresources.includes('source');
  const { value: source } = useLoad(
    async () => (hasSource ? await client.source(resource, of, momentOf(at.value)) : undefined),
    [at.value, object.metadata.resourceVersion],
  );
  const owner = object.spec?.['owner'] as { user?: string; team?: string } | undefined;
  return (
    <Panel title="In git">
      <Facts
        rows={[
          [
            'File',
            source === undefined ? undefined : <code>{`${source.path}:${source.line}`}</code>,
          ],
          ['Commit', source === undefined ? undefined : <Revision id={source.revision} />],
          ['Owner', owner?.team === undefined ? owner?.user : `team ${owner.team}`],
          ['Timeline', resource.name === 'teams' ? <TeamTimeline name={of.name} /> : undefined],
          ['Created', creationTimestamp && <Time value={creationTimestamp} />],
          ['Deleted', deletionTimestamp && <Time value={deletionTimestamp} />],
          ['Generation', generation],
          ['UID', uid && <code>{uid}</code>],
        ]}
      />
    </Panel>
  );
}

function Conditions({ conditions }: { conditions: readonly Condition[] }): JSX.Element | null {
  if (conditions.length === 0) return null;
  return (
    <Panel title="Conditions" flush>
      <ul class="rows">
        {conditions.map((condition) => (
          <li key={condition.type}>
            <div class="row-line">
              <strong>{condition.type}</strong>
              <Badge tone={toneOf(condition)}>{condition.reason || condition.status}</Badge>
              {condition.lastTransitionTime === undefined ? undefined : (
                <span class="muted end">
                  <Time value={condition.lastTransitionTime} />
                </span>
              )}
            </div>
            {condition.message ? <p class="message">{condition.message}</p> : undefined}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function toneOf(condition: Condition): Tone {
  if (!isBad(condition)) return 'good';
  return condition.severity === 'Error' ? 'alert' : 'warn';
}

function Labels({
  title,
  values = {},
}: {
  title: string;
  values: Readonly<Record<string, string>> | undefined;
}): JSX.Element | null {
  const entries = Object.entries(values);
  if (entries.length === 0) return null;
  return (
    <Panel title={title}>
      <dl class="labels">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
