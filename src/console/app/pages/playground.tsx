/** Playground: endpoint patches on an object, with the report of each patch. Nothing is written. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { KubeObject, Resource } from '../../api/objects.ts';
import { textOf } from '../components/difference.tsx';
import { Badge, ErrorNotice, Notice, Panel, type Tone } from '../components/parts.tsx';
import { SideBySide } from '../components/plan-change.tsx';
import { count } from '../format.ts';
import { errorOf } from '../load.ts';
import { client } from '../session.ts';

interface Previewed {
  readonly before: KubeObject;
  readonly after?: KubeObject;
  readonly report: PatchReport;
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
  useEffect(() => {
    void settingsOf(tenant).then(setConfig);
  }, [tenant]);
  const [result, setResult] = useState<readonly Previewed[]>([]);
  const [failure, setFailure] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    const { parse } = await import('yaml');
    const body = { objects: [parse(text) as unknown], config: parse(config) as unknown };
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
            title="Object of the tenant: Endpoints or Service"
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
          <button class="button primary" type="submit" disabled={isBusy}>
            {isBusy ? 'Running…' : 'Run the patches'}
          </button>
        </div>
      </form>
      <div class="stack" aria-live="polite">
        {failure === undefined ? undefined : <ErrorNotice error={failure} />}
        {failure === undefined
          ? result.map((one) => <Outcome key={JSON.stringify(one.before)} previewed={one} />)
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

/** The settings of the tenant as they are, to begin with. */
async function settingsOf({ spec = {} }: KubeObject): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(spec);
}

const TONES: Readonly<Record<PatchRun['status'], Tone>> = {
  applied: 'good',
  unchanged: 'plain',
  skipped: 'plain',
  failed: 'alert',
};

function Outcome({ previewed }: { previewed: Previewed }): JSX.Element {
  const { before, after, report } = previewed;
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
      <Panel title="Result">
        <SideBySide before={before} after={after} />
      </Panel>
    </>
  );
}

function Step({ run }: { run: PatchRun }): JSX.Element {
  const { path, mode, status, skipped, matches, missed, durationMs, failure } = run;
  return (
    <>
      <div class="row-line">
        <code>{path}</code>
        <Badge tone="plain">{mode}</Badge>
        <Badge tone={TONES[status]}>{status}</Badge>
        <span class="end muted">{durationMs.toFixed(1)} ms</span>
      </div>
      {skipped === undefined ? undefined : <p class="muted">{skipped}</p>}
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
