/** Plan of pasted manifests: a dry run of each document by server-side apply, with the rights of the user. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError } from '../../api/client.ts';
import type { KubeObject, Resource } from '../../api/objects.ts';
import type { FieldChange } from '../../api/plan.ts';
import { compareObjects, FieldChanges } from '../components/difference.tsx';
import { Badge, ErrorNotice, Panel } from '../components/parts.tsx';
import { errorOf } from '../load.ts';
import { resources } from '../resources.ts';
import { client } from '../session.ts';

interface Outcome {
  readonly title: string;
  readonly verb?: 'created' | 'changed' | 'unchanged';
  readonly fields?: readonly FieldChange[];
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
  const { title, verb, fields = [], error } = outcome;
  const badge =
    verb === undefined ? undefined : (
      <Badge tone={verb === 'created' ? 'good' : verb === 'changed' ? 'info' : 'plain'}>
        {verb}
      </Badge>
    );
  return (
    <Panel title={title} aside={badge}>
      {error === undefined ? undefined : <ErrorNotice title="It would be refused" error={error} />}
      {fields.length === 0 ? undefined : <FieldChanges fields={fields} />}
      {verb === 'unchanged' ? <p class="muted">The object is like this already.</p> : undefined}
    </Panel>
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
  const namespace = resource.namespaced ? (metadata?.namespace ?? 'default') : '';
  try {
    const before = await current(resource, { namespace, name });
    const after = await client.json<KubeObject>(client.objectPath(resource, { namespace, name }), {
      method: 'PATCH',
      query: { dryRun: 'All', fieldManager: 'gitplane-console', force: true },
      contentType: 'application/apply-patch+yaml',
      body: value,
    });
    const fields = compareObjects(before, after);
    const verb = before === undefined ? 'created' : fields.length > 0 ? 'changed' : 'unchanged';
    return { title, verb, fields };
  } catch (error) {
    return { title, error: errorOf(error) };
  }
}

async function current(
  resource: Resource,
  ref: { readonly namespace: string; readonly name: string },
): Promise<KubeObject | undefined> {
  try {
    return await client.get(resource, ref);
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return undefined;
    throw error;
  }
}
