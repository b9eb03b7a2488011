/** Plan of pasted manifests: a dry run of each document by server-side apply, with the rights of the user. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { KubeObject, WritePreview } from '../../api/objects.ts';
import type { WriteEffect } from '../../api/plan.ts';
import { ErrorNotice, Panel } from '../components/parts.tsx';
import { Change } from '../components/plan-change.tsx';
import { count } from '../format.ts';
import { errorOf } from '../load.ts';
import { DEFAULT_NAMESPACE, resources } from '../resources.ts';
import { client } from '../session.ts';

interface Outcome {
  readonly title: string;
  readonly effect?: WriteEffect;
  readonly error?: Error;
}

const MOST_DOCUMENTS = 50;

export function PastedManifest(): JSX.Element {
  const [text, setText] = useState('');
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([]);
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setOutcomes(
      await planAll(text).catch((error: unknown) => [{ title: 'Manifest', error: errorOf(error) }]),
    );
    setBusy(false);
  };
  return (
    <>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <label class="field">
          Manifests, as YAML or JSON
          <textarea
            class="mono"
            rows={14}
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <div class="actions">
          <button class="button primary" type="submit" disabled={isBusy || text.trim() === ''}>
            {isBusy ? 'Planning…' : 'Plan'}
          </button>
        </div>
      </form>
      <div class="stack" aria-live="polite">
        {outcomes.map((outcome) => (
          <OutcomePanel key={outcome.title} outcome={outcome} />
        ))}
      </div>
    </>
  );
}

function OutcomePanel({ outcome }: { outcome: Outcome }): JSX.Element {
  const { title, effect, error } = outcome;
  return (
    <Panel title={title} flush={effect !== undefined && effect.changes.length > 0}>
      {error === undefined ? undefined : <ErrorNotice title="It would be refused" error={error} />}
      {effect === undefined ? undefined : <Changes effect={effect} />}
    </Panel>
  );
}

function Changes({ effect: { changes, hidden } }: { effect: WriteEffect }): JSX.Element {
  if (changes.length === 0 && hidden === 0) {
    return <p class="muted">The object is like this already.</p>;
  }
  return (
    <>
      <ul class="rows">
        {changes.map((change) => (
          <li key={`${change.kind}/${change.namespace}/${change.name}`}>
            <Change change={change} />
          </li>
        ))}
      </ul>
      {hidden > 0 ? (
        <p class="muted">{count(hidden, 'more object')} that you may not see.</p>
      ) : undefined}
    </>
  );
}

async function planAll(text: string): Promise<Outcome[]> {
  const { parseAllDocuments } = await import('yaml');
  const documents = parseAllDocuments(text, { maxAliasCount: 100 } as object);
  if (!Array.isArray(documents)) return [];
  if (documents.length > MOST_DOCUMENTS) throw new Error(`More than ${MOST_DOCUMENTS} documents`);
  const outcomes: Outcome[] = [];
  for (const [i, document] of documents.entries()) {
    const [problem] = document.errors;
    if (problem !== undefined) {
      outcomes.push({ title: `Document ${i + 1}`, error: new Error(problem.message) });
      continue;
    }
    const value: unknown = document.toJS();
    if (value === null) continue;
    outcomes.push(await planOne(value, i + 1));
  }
  return outcomes;
}

async function planOne(value: unknown, number: number): Promise<Outcome> {
  const object = value as Partial<KubeObject>;
  const { kind = '', apiVersion = '', metadata } = object;
  const name = metadata?.name ?? '';
  const resource = resources.value.find(
    (one) => one.kind === kind && apiVersion === [one.group, one.version].filter(Boolean).join('/'),
  );
  const title =
    kind === ''
      ? `Document ${number}`
      : `${kind} ${[metadata?.namespace, name].filter(Boolean).join('/')}`;
  if (resource === undefined || name === '') {
    const problem = name === '' ? 'metadata.name is missing' : `${apiVersion} has no kind ${kind}`;
    return { title, error: new Error(problem) };
  }
  const namespace = resource.namespaced ? (metadata?.namespace ?? DEFAULT_NAMESPACE) : '';
  try {
    const { effect } = await client.json<WritePreview>(
      client.objectPath(resource, { namespace, name }),
      {
        method: 'PATCH',
        query: { dryRun: 'All', show: 'effect', fieldManager: 'gitplane-console', force: true },
        contentType: 'application/apply-patch+yaml',
        body: value,
      },
    );
    return { title, ...(effect === undefined ? {} : { effect }) };
  } catch (error) {
    return { title, error: errorOf(error) };
  }
}
