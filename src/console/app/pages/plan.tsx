/** Plan: the effect of a commit, a branch or a manifest, before it is made. Its address can be shared. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Plan, PlanChange } from '../../api/plan.ts';
import {
  Empty,
  ErrorNotice,
  Loading,
  Notice,
  PageHead,
  Panel,
  Revision,
  type Tone,
} from '../components/parts.tsx';
import { Change } from '../components/plan-change.tsx';
import { count } from '../format.ts';
import { useLoad } from '../load.ts';
import { href, query, setQuery } from '../location.ts';
import { useRights } from '../rights.ts';
import { client } from '../session.ts';
import { Branches } from './plan-branches.tsx';
import { PastedManifest } from './plan-manifest.tsx';

export function PlanPage(): JSX.Element {
  const of = query.value.get('of') ?? '';
  const isManifest = query.value.get('from') === 'manifest';
  return (
    <>
      <PageHead
        title="Plan"
        below={
          <p class="muted">See the effect of a change before it is made. Nothing is written.</p>
        }
      />
      <nav class="tabs" aria-label="Source of the plan">
        <a href={href(['plan'])} aria-current={isManifest ? undefined : 'page'}>
          Commit or branch
        </a>
        <a
          href={href(['plan'], { from: 'manifest' })}
          aria-current={isManifest ? 'page' : undefined}
        >
          Pasted manifest
        </a>
      </nav>
      {isManifest ? <PastedManifest /> : <PlannedCommit key={of} of={of} />}
    </>
  );
}

function PlannedCommit({ of }: { of: string }): JSX.Element {
  const [text, setText] = useState(of);
  const rights = useRights();
  const branches = useLoad((signal) => client.api.get('/branches', { signal }), []);
  if (rights?.mayClone === false) {
    return (
      <Notice tone="info" title="You may not plan commits">
        <p>
          A plan of a commit or a branch takes the right to clone the repository. The effect of a
          <a href={href(['plan'], { from: 'manifest' })}>pasted manifest</a> takes only the rights
          to write it.
        </p>
      </Notice>
    );
  }
  return (
    <>
      <form
        class="inline-form"
        onSubmit={(event) => {
          event.preventDefault();
          setQuery({ of: text.trim() });
        }}
      >
        <label>
          Commit, branch or tag
          <input
            name="of"
            value={text}
            list="branches"
            autocomplete="off"
            spellcheck={false}
            placeholder="feature/new-team"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <datalist id="branches">
          {(branches.value?.items ?? []).map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <button class="button primary" type="submit">
          Plan
        </button>
      </form>
      {of === '' ? (
        <>
          <p class="muted spaced spaced-above">
            Push a branch to the repository, and choose it here. The address of the plan can be put
            into a pull request.
          </p>
          <Branches list={branches} />
        </>
      ) : (
        <LoadedPlan of={of} />
      )}
    </>
  );
}

const COMMIT = /^[0-9a-f]{4,40}$/;

function LoadedPlan({ of }: { of: string }): JSX.Element {
  const plan = useLoad(
    (signal) =>
      client.api.post('/plan', {
        body: COMMIT.test(of) ? { revision: of } : { ref: of },
        signal,
      }),
    [of],
  );
  if (plan.error !== undefined) {
    return <ErrorNotice title="This cannot be planned" error={plan.error} />;
  }
  if (plan.value === undefined || plan.isLoading) return <Loading what="Planning" />;
  return <PlanReport plan={plan.value} />;
}

const TONES: Readonly<Record<Plan['verdict'], Tone>> = {
  accepted: 'good',
  held: 'warn',
  refused: 'alert',
};
const VERDICTS: Readonly<Record<Plan['verdict'], string>> = {
  accepted: 'A push of this commit would be accepted',
  held: 'A push of this commit needs an approval',
  refused: 'A push of this commit would be refused',
};

function PlanReport({ plan }: { plan: Plan }): JSX.Element {
  const { verdict, from, to, changes, problems, warnings, objections } = plan;
  return (
    <div class="stack">
      <Notice tone={TONES[verdict]} title={VERDICTS[verdict]}>
        <p>
          {from === null ? 'An empty branch' : <Revision id={from} />} → <Revision id={to} />:{' '}
          {summaryText(plan)}
        </p>
        {objections.length === 0 ? undefined : (
          <ul>
            {objections.map((text) => (
              <li key={text} class="message">
                {text}
              </li>
            ))}
          </ul>
        )}
      </Notice>
      {problems.length === 0 ? undefined : <Places title="Problems" items={problems} />}
      {warnings.length === 0 ? undefined : <Places title="Warnings" items={warnings} />}
      <AccessSummary changes={changes} />
      <Panel title={count(changes.length, 'changed object')} flush>
        {changes.length === 0 ? (
          <Empty>No object would change.</Empty>
        ) : (
          <ul class="rows">
            {changes.slice(0, MOST_SHOWN).map((change) => (
              <li key={`${change.kind}/${change.namespace}/${change.name}/${change.verb}`}>
                <Change change={change} />
              </li>
            ))}
          </ul>
        )}
        {changes.length > MOST_SHOWN ? (
          <Empty>
            {count(changes.length - MOST_SHOWN, 'more object')}: run gitplane plan to see all of
            them.
          </Empty>
        ) : undefined}
      </Panel>
    </div>
  );
}

/** More rows would take long to draw. */
const MOST_SHOWN = 500;

function summaryText({ summary }: Plan): string {
  const words: readonly (readonly [string, string])[] = [
    ['create', 'created'],
    ['update', 'changed'],
    ['delete', 'removed'],
    ['recreate', 'made anew'],
    ['move', 'moved'],
  ];
  const parts = words.flatMap(([verb, word]) =>
    summary[verb] ? [`${summary[verb]} ${word}`] : [],
  );
  return parts.length === 0 ? 'nothing changes' : parts.join(', ');
}

export function Places({
  title,
  items,
}: {
  title: string;
  items: readonly { path: string; line: number; col: number; message: string }[];
}): JSX.Element {
  return (
    <Panel title={title} flush>
      <ul class="rows">
        {items.map(({ path, line, col, message }) => (
          <li key={`${path}:${line}:${col}:${message}`}>
            <span class="message">{message}</span>
            <code class="place">
              {path}:{line}:{col}
            </code>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function AccessSummary({ changes }: { changes: readonly PlanChange[] }): JSX.Element | null {
  const all = changes.flatMap(({ access = [] }) => access);
  if (all.length === 0) return null;
  const opened = all.filter(({ effect }) => effect === 'opens').length;
  return (
    <Notice tone="warn" title="Access changes">
      <p>
        {opened} opened, {all.length - opened} closed. Each is shown with its object.
      </p>
    </Notice>
  );
}
