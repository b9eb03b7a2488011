/** Playground: endpoint patches on an object, forward and back, with the report of each patch. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { writing } from '../../api/client.ts';
import type { KubeObject, ObjectSource, Resource, WritePreview } from '../../api/objects.ts';
import { textOf } from '../components/difference.tsx';
import { Badge, ErrorNotice, Notice, Panel, type Tone } from '../components/parts.tsx';
import { SideBySide } from '../components/plan-change.tsx';
import { ProposedChange } from '../components/proposed-change.tsx';
import { count } from '../format.ts';
import { errorOf, useLoad } from '../load.ts';
import { client } from '../session.ts';

interface Previewed {
  readonly before: KubeObject;
  readonly after?: KubeObject;
  readonly report: PatchReport;
  readonly roundTrip?: readonly RoundTripDifference[];
}

interface RoundTripDifference {
  readonly patch: number;
  readonly path: string;
  readonly before: unknown;
  readonly there?: unknown;
  readonly back?: unknown;
}

interface PatchReport {
  readonly patches: readonly PatchRun[];
  readonly durationMs: number;
  readonly fuel: number;
  readonly failure?: { readonly message?: string };
}

interface PatchRun {
  readonly patch: number;
  readonly path: string;
  readonly mode: string;
  readonly status: 'applied' | 'unchanged' | 'skipped' | 'failed';
  readonly skipped?: string;
  readonly missed: number;
  readonly durationMs: number;
  readonly fuel?: number;
  readonly matches: readonly {
    readonly path: string;
    readonly change: string;
    readonly before?: unknown;
    readonly after?: unknown;
    readonly note?: string;
  }[];
  readonly failure?: { readonly message?: string };
}

const SAMPLE = `apiVersion: v1
kind: Endpoints
metadata:
  name: web
  namespace: shop
  labels:
    team: storefront
subsets:
- addresses:
  - ip: 10.0.0.7
    hostname: web-0
  ports:
  - name: http
    port: 8080
`;

export function Playground(props: { resource: Resource; tenant: KubeObject }): JSX.Element {
  const { resource, tenant } = props;
  const [text, setText] = useState(SAMPLE);
  const [config, setConfig] = useState('');
  const [source, setSource] = useState<ObjectSource>();
  const [isSaving, setSaving] = useState(false);
  const [direction, setDirection] = useState<Direction>('forward');
  const read = async (): Promise<void> => {
    const found = await client.source(resource, { namespace: '', name: tenant.metadata.name });
    setSource(found);
    setConfig(found.text ?? (await settingsOf(tenant)));
  };
  useEffect(() => {
    read().catch(async () => setConfig(await settingsOf(tenant)));
  }, [tenant]);
  const [result, setResult] = useState<readonly Previewed[]>([]);
  const [failure, setFailure] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    const { parse } = await import('yaml');
    const body = { objects: [parse(text) as unknown], config: parse(config) as unknown, direction };
    const path = client.objectPath(resource, { namespace: '', name: tenant.metadata.name });
    const answer = await client.json<{ items: readonly Previewed[] }>(`${path}/patches:preview`, {
      method: 'POST',
      body,
    });
    setResult(answer.items);
  };
  return (
    <>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          setBusy(true);
          setFailure(undefined);
          run()
            .catch((error: unknown) => setFailure(errorOf(error)))
            .finally(() => setBusy(false));
        }}
      >
        <div class="sides">
          <Editor
            title={
              direction === 'forward'
                ? 'Object of the tenant: Endpoints or Service'
                : 'Object of the control-plane cluster: Endpoints or Service'
            }
            text={text}
            onChange={setText}
          />
          <Editor
            title="Settings with the patches (vcluster.yaml)"
            text={config}
            onChange={setConfig}
          />
        </div>
        <div class="actions">
          <label>
            Direction{' '}
            <select
              value={direction}
              onChange={({ currentTarget }) => {
                setDirection(currentTarget.value === 'reverse' ? 'reverse' : 'forward');
                setResult([]);
              }}
            >
              <option value="forward">to the control plane</option>
              <option value="reverse">back to the tenant</option>
            </select>
          </label>
          <button class="button primary" type="submit" disabled={isBusy}>
            {isBusy ? 'Running…' : 'Run the patches'}
          </button>
          {source?.text === undefined ? (
            <span class="muted">Saving takes the right to clone and to push.</span>
          ) : (
            <button
              class="button"
              type="button"
              disabled={config === source.text}
              onClick={() => setSaving(true)}
            >
              Save to the tenant
            </button>
          )}
        </div>
      </form>
      {isSaving && source !== undefined ? (
        <SaveToTenant
          {...{ resource, source, config }}
          name={tenant.metadata.name}
          onSaved={() => void read()}
          onClose={() => setSaving(false)}
        />
      ) : undefined}
      <div class="stack" aria-live="polite">
        {failure === undefined ? undefined : <ErrorNotice error={failure} />}
        {failure === undefined
          ? result.map((one) => (
              <Outcome
                key={JSON.stringify(one.before)}
                previewed={one}
                onGoBack={
                  direction === 'reverse' || one.after === undefined
                    ? undefined
                    : () => {
                        setDirection('reverse');
                        setResult([]);
                        void yamlOf(one.after).then(setText);
                      }
                }
              />
            ))
          : undefined}
      </div>
    </>
  );
}

function Editor(props: {
  title: string;
  text: string;
  onChange: (text: string) => void;
}): JSX.Element {
  const { title, text, onChange } = props;
  return (
    <label class="field">
      {title}
      <textarea
        class="mono"
        rows={18}
        spellcheck={false}
        value={text}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

/** The change of the file and its effect, then the commit. */
function SaveToTenant(props: {
  readonly resource: Resource;
  readonly name: string;
  readonly source: ObjectSource;
  readonly config: string;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}): JSX.Element {
  const { resource, name, source, config, onSaved, onClose } = props;
  const path = `${client.objectPath(resource, { namespace: '', name })}/source`;
  const body = { revision: source.revision, text: config };
  const preview = useLoad(
    (signal) =>
      client.json<WritePreview>(path, {
        method: 'PUT',
        body,
        query: { dryRun: 'All', show: 'file,effect' },
        signal,
      }),
    [config],
  );
  return (
    <ProposedChange
      title="Save to the tenant"
      preview={preview}
      submit="Save"
      onClose={onClose}
      onSubmit={async (reason) => {
        await client.send(path, { ...writing({ reason }), method: 'PUT', body });
        onSaved();
      }}
    >
      <p>The commit changes the file of the tenant, and its sync follows.</p>
    </ProposedChange>
  );
}

type Direction = 'forward' | 'reverse';

/** The settings of the tenant as they are, where the file cannot be read. */
async function settingsOf({ spec = {} }: KubeObject): Promise<string> {
  return await yamlOf(spec);
}

async function yamlOf(value: unknown): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(value);
}

const TONES: Readonly<Record<PatchRun['status'], Tone>> = {
  applied: 'good',
  unchanged: 'plain',
  skipped: 'plain',
  failed: 'alert',
};

const SKIPPED: Readonly<Record<string, string>> = {
  'no-match': 'The path leads nowhere in this object.',
  'no-expression': 'It has no expression for this direction.',
  'no-reverse-expression': 'It has no reverseExpression.',
  'earlier-patch-failed': 'An earlier patch failed.',
};

function Outcome(props: {
  readonly previewed: Previewed;
  /** Takes the result as the object of the way back. */
  readonly onGoBack: (() => void) | undefined;
}): JSX.Element {
  const { previewed, onGoBack } = props;
  const { before, after, report, roundTrip = [] } = previewed;
  const { patches, durationMs, fuel, failure } = report;
  return (
    <>
      {after === undefined ? (
        <Notice tone="alert" title="A patch failed, so nothing would be written">
          <p class="message">{failure?.message}</p>
        </Notice>
      ) : undefined}
      <Panel
        title="Steps"
        aside={
          <span class="muted">
            {durationMs.toFixed(1)} ms, {count(fuel, 'unit')} of fuel
          </span>
        }
        flush
      >
        <ol class="rows">
          {patches.map((run) => (
            <li key={run.patch}>
              <Step run={run} />
            </li>
          ))}
        </ol>
      </Panel>
      {roundTrip.length === 0 ? undefined : (
        <Notice tone="warn" title="Values do not come back">
          <ul>
            {roundTrip.map((one) => (
              <li key={`${one.patch}:${one.path}`}>
                <code>{one.path}</code>: {textOf(one.before)} becomes {textOf(one.there ?? null)},
                and comes back as {textOf(one.back ?? null)}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <Panel
        title="Result"
        aside={
          onGoBack === undefined ? undefined : (
            <button type="button" class="button small" onClick={onGoBack}>
              Take it for the way back
            </button>
          )
        }
      >
        <SideBySide before={before} after={after} />
      </Panel>
    </>
  );
}

function Step({ run }: { run: PatchRun }): JSX.Element {
  const { path, mode, status, skipped, matches, missed, durationMs, fuel = 0, failure } = run;
  return (
    <>
      <div class="row-line">
        <code>{path}</code>
        <Badge tone="plain">{mode}</Badge>
        <Badge tone={TONES[status]}>{status}</Badge>
        <span class="end muted">
          {durationMs.toFixed(1)} ms, {count(fuel, 'unit')} of fuel
        </span>
      </div>
      {skipped === undefined ? undefined : <p class="muted">{SKIPPED[skipped] ?? skipped}</p>}
      {failure === undefined ? undefined : <p class="message">{failure.message}</p>}
      <ul class="plain">
        {matches.map(({ path: at, change, before, after, note }) => (
          <li key={at}>
            <code>{at === '' ? 'the whole object' : at}</code> {change}
            {before === undefined ? undefined : (
              <>
                {' '}
                <code class="value removed">{textOf(before)}</code>
              </>
            )}
            {after === undefined ? undefined : (
              <>
                {' → '}
                <code class="value added">{textOf(after)}</code>
              </>
            )}
            {note === undefined ? undefined : <span class="muted"> {note}</span>}
          </li>
        ))}
      </ul>
      {missed > 0 ? (
        <p class="muted">{count(missed, 'branch', 'branches')} ended before the path did</p>
      ) : undefined}
    </>
  );
}
