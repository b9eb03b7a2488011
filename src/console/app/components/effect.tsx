/** The effect of a write before it is made: access, derived objects, effects of patches, other objects. */
import type { JSX } from 'preact';
import type { PlanChange, WriteEffect } from '../../api/plan.ts';
import { count } from '../format.ts';
import { Badge, Panel } from './parts.tsx';
import { Change, Consequences } from './plan-change.tsx';

export function Effect({
  effect: { changes, hidden },
  of,
}: {
  effect: WriteEffect;
  /** The object that is written; the fields of the others are shown as well. */
  of: { readonly kind: string; readonly namespace: string; readonly name: string };
}): JSX.Element {
  const isOwn = ({ kind, namespace = '', name }: PlanChange): boolean =>
    kind === of.kind && name === of.name && namespace === of.namespace;
  const shown = changes.filter((change) => !isOwn(change) || hasConsequences(change));
  const access = changes.flatMap((change) => change.access ?? []);
  const opened = access.filter(({ effect }) => effect === 'opens').length;
  return (
    <Panel
      title="Effect"
      aside={
        access.length === 0 ? undefined : (
          <Badge tone="warn">
            {opened} opened, {access.length - opened} closed
          </Badge>
        )
      }
    >
      {shown.length === 0 && hidden === 0 ? (
        <p class="muted">Access stays as it is, and no other object changes.</p>
      ) : undefined}
      {shown.map((change) => (
        <section key={`${change.kind}/${change.namespace}/${change.name}`} class="effect">
          {isOwn(change) ? <Consequences change={change} /> : <Change change={change} />}
        </section>
      ))}
      {hidden > 0 ? (
        <p class="muted">{count(hidden, 'more object')} that you may not see.</p>
      ) : undefined}
    </Panel>
  );
}

function hasConsequences({ access, derived, effects }: PlanChange): boolean {
  return access !== undefined || derived !== undefined || effects !== undefined;
}
