/** A change of one object in a plan or a dry run: fields, access, derived objects, effects of patches. */
import type { JSX } from 'preact';
import type { AccessChange, DerivedChanges, PlanChange, PlanEffects } from '../../api/plan.ts';
import { count } from '../format.ts';
import { objectHref, resources } from '../resources.ts';
import { FieldChanges, textOf } from './difference.tsx';
import { Badge, type Tone } from './parts.tsx';

const VERBS: Readonly<Record<PlanChange['verb'], readonly [string, Tone]>> = {
  create: ['created', 'good'],
  update: ['changed', 'info'],
  delete: ['removed', 'alert'],
  recreate: ['made anew', 'warn'],
  move: ['moved', 'plain'],
};

export function Change({ change }: { change: PlanChange }): JSX.Element {
  const { verb, kind, namespace, name, path, previousPath, fields, degraded } = change;
  const [word, tone] = VERBS[verb];
  const title = [namespace, name].filter(Boolean).join('/');
  const resource = resources.value.find(
    (one) => one.kind === kind && change.apiVersion.startsWith(one.group),
  );
  const link =
    resource === undefined || verb === 'create'
      ? undefined
      : objectHref(resource, { namespace: namespace ?? '', name });
  return (
    <>
      <div class="row-line">
        <Badge tone={tone}>{word}</Badge>
        <span class="row-title">
          {kind} {link === undefined ? title : <a href={link}>{title}</a>}
        </span>
        {degraded === true ? (
          <Badge tone="alert">not valid: the last good version stays</Badge>
        ) : undefined}
      </div>
      <code class="place">{previousPath === undefined ? path : `${previousPath} → ${path}`}</code>
      <Consequences change={change} />
      {fields.length === 0 ? undefined : (
        <details open={verb !== 'create' && fields.length <= 20}>
          <summary>{count(fields.length, 'field')}</summary>
          <FieldChanges fields={fields} />
        </details>
      )}
    </>
  );
}

/** All that follows from the change of the object. */
export function Consequences({ change }: { change: PlanChange }): JSX.Element {
  const { access, derived, effects } = change;
  return (
    <>
      {access === undefined ? undefined : <AccessChanges items={access} />}
      {derived === undefined ? undefined : <Derived derived={derived} />}
      {effects === undefined ? undefined : <Effects effects={effects} />}
    </>
  );
}

const DERIVED_TONES: Readonly<Record<string, Tone>> = {
  create: 'good',
  update: 'info',
  delete: 'alert',
};
const DERIVED_WORDS: Readonly<Record<string, string>> = {
  create: 'created',
  update: 'gets new data',
  delete: 'removed',
};

function Derived({ derived: { count: all, items } }: { derived: DerivedChanges }): JSX.Element {
  return (
    <details open={items.length <= 10}>
      <summary>{count(all, 'derived object')}</summary>
      <ul class="plain">
        {items.map(({ verb, kind, namespace, name, message }) => (
          <li key={`${kind}/${namespace}/${name}`}>
            <Badge tone={DERIVED_TONES[verb] ?? 'plain'}>{DERIVED_WORDS[verb] ?? verb}</Badge>{' '}
            {kind} <span class="message">{[namespace, name].filter(Boolean).join('/')}</span>
            {message === undefined ? undefined : <span class="muted"> {message}</span>}
          </li>
        ))}
      </ul>
      {all > items.length ? <p class="muted">{all - items.length} more</p> : undefined}
    </details>
  );
}

function AccessChanges({ items }: { items: readonly AccessChange[] }): JSX.Element {
  return (
    <ul class="plain access-changes">
      {items.map((item) => (
        <li key={JSON.stringify(item)}>
          <Badge tone={item.effect === 'opens' ? 'warn' : 'info'}>access {item.effect}</Badge>{' '}
          <span>{accessText(item)}</span>
        </li>
      ))}
    </ul>
  );
}

function accessText({ subject, rule, role, rightsOf }: AccessChange): string {
  const who = subject === undefined ? 'everyone with this role' : `${subject.kind} ${subject.name}`;
  if (role !== undefined) return `${who}: ${role}`;
  if (rightsOf !== undefined) return `${who}: the rights of ${rightsOf}`;
  const { verbs = [], resources: on = [], resourceNames = [], nonResourceURLs = [] } = rule ?? {};
  const names = resourceNames.length === 0 ? '' : ` named ${resourceNames.join(', ')}`;
  return `${who}: ${verbs.join(', ')} on ${[...on, ...nonResourceURLs].join(', ')}${names}`;
}

function Effects({ effects }: { effects: PlanEffects }): JSX.Element {
  const { unknown, objects, changed, items, unseen, warnings } = effects;
  if (unknown !== undefined) {
    return <p class="muted">The effect of its patches is not known: {unknown}</p>;
  }
  return (
    <details open>
      <summary>
        {changed} of {count(objects, 'object')} change on the control-plane cluster
        {unseen > 0 ? `; ${unseen} were not examined` : ''}
      </summary>
      {warnings.map((text) => (
        <p key={text} class="muted">
          {text}
        </p>
      ))}
      <ul class="plain">
        {items.map(({ verb, kind, source, before, after, message }) => (
          <li key={`${kind}/${source.namespace}/${source.name}`}>
            <Badge tone={verb === 'fail' ? 'alert' : 'info'}>{verb}</Badge> {kind}{' '}
            {source.namespace}/{source.name} {message}
            <SideBySide before={before} after={after} />
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Two versions of an object as JSON. */
export function SideBySide({ before, after }: { before: unknown; after: unknown }): JSX.Element {
  return (
    <div class="sides">
      <figure>
        <figcaption>Before</figcaption>
        <pre class="lines">{before === undefined ? 'none' : textOf(before)}</pre>
      </figure>
      <figure>
        <figcaption>After</figcaption>
        <pre class="lines">{after === undefined ? 'none' : textOf(after)}</pre>
      </figure>
    </div>
  );
}
