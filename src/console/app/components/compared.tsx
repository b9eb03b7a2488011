/** Objects that differ between two moments, with their fields and the way back. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Comparison } from '../../api/plan.ts';
import { count } from '../format.ts';
import { useLoad } from '../load.ts';
import { Rollback } from '../pages/rollback.tsx';
import { bySlug, named, objectHref, resources, slugOf } from '../resources.ts';
import { useRights } from '../rights.ts';
import { client } from '../session.ts';
import { FieldChanges } from './difference.tsx';
import { Badge, Empty, ErrorNotice, Loading, type Tone } from './parts.tsx';

const VERBS: Readonly<Record<string, readonly [string, Tone]>> = {
  create: ['added', 'good'],
  update: ['changed', 'info'],
  delete: ['removed', 'alert'],
  recreate: ['replaced', 'warn'],
  move: ['moved', 'plain'],
};

/** `to` is empty for the present. */
export function Compared({ from, to }: { from: string; to: string }): JSX.Element {
  const { value, error } = useLoad(
    (signal) => client.compare({ from, to: to === '' ? undefined : to, signal }),
    [from, to],
  );
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (value === undefined) return <Loading what="Comparing" />;
  const { items, count: all, summary } = value;
  if (all === 0) return <Empty>No object differs.</Empty>;
  const counts = Object.entries(summary).map(([verb, number]) => `${number} ${wordsOf(verb)[0]}`);
  return (
    <>
      <p class="muted compared-counts">{counts.join(', ')}</p>
      <ul class="rows">
        {items.map((item) => (
          <li key={`${item.kind}/${item.namespace}/${item.name}`}>
            <ComparedObject item={item} from={value.from} />
          </li>
        ))}
      </ul>
      {items.length < all ? (
        <p class="muted compared-counts">and {count(all - items.length, 'more object')}</p>
      ) : undefined}
    </>
  );
}

/** Longer changes are closed at first. */
const MOST_OPEN = 5;

function wordsOf(verb: string): readonly [string, Tone] {
  return VERBS[verb] ?? [verb, 'plain'];
}

function ComparedObject(props: {
  readonly item: Comparison['items'][number];
  readonly from: Comparison['from'];
}): JSX.Element {
  const { item, from } = props;
  const { verb, apiVersion, kind, plural, namespace = '', name, fields, path, previousPath } = item;
  const [isBack, setBack] = useState(false);
  const found = plural === undefined ? undefined : named({ apiVersion, plural });
  const resource = found && bySlug(resources.value, slugOf(found));
  const [word, tone] = wordsOf(verb);
  // Rights that hold everywhere: no request per row. The page of the object knows the others.
  const rights = useRights();
  const back = verb === 'update' ? 'update' : verb === 'delete' ? 'create' : undefined;
  const of = { slug: found === undefined ? '' : slugOf(found), kind, namespace, name };
  const entry = {
    revision: from.revision,
    time: from.time,
    author: { name: '' },
    message: `commit ${from.revision.slice(0, 8)}`,
    verb,
    path,
  };
  return (
    <>
      <div class="row-line">
        <Badge tone={tone}>{word}</Badge>
        {found === undefined ? (
          <strong>{name}</strong>
        ) : (
          <a
            class="row-title"
            href={objectHref(found, { namespace, name }, { tab: 'history', at: undefined })}
          >
            {kind} {[namespace, name].filter(Boolean).join('/')}
          </a>
        )}
        {previousPath === undefined ? undefined : (
          <span class="muted">
            from {previousPath} to {path}
          </span>
        )}
        {resource === undefined ||
        back === undefined ||
        rights?.may(back, resource, back === 'create' ? undefined : name) !== true ? undefined : (
          <button
            type="button"
            class="button small end"
            aria-expanded={isBack}
            onClick={() => setBack(!isBack)}
          >
            Roll back
          </button>
        )}
      </div>
      {fields.length === 0 ? undefined : (
        <details open={fields.length <= MOST_OPEN}>
          <summary>{count(fields.length, 'field')}</summary>
          <FieldChanges fields={fields} />
        </details>
      )}
      {isBack && resource !== undefined ? (
        <Rollback
          {...{ resource, of, entry }}
          object={undefined}
          mayClone={rights?.mayClone === true}
          onClose={() => setBack(false)}
        />
      ) : undefined}
    </>
  );
}
