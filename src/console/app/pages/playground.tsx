/** Playground: endpoint patches on an object, forward and back, with the report of each patch. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { preview as previewQuery, writing } from '../../api/client.ts';
import type { KubeObject, ObjectSource, Resource, WritePreview } from '../../api/objects.ts';
import { ErrorNotice } from '../components/parts.tsx';
import { ProposedChange } from '../components/proposed-change.tsx';
import { errorOf, useLoad } from '../load.ts';
import { useRights } from '../rights.ts';
import { client, session } from '../session.ts';
import { Outcome, type Previewed } from './playground-outcome.tsx';

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

const PREVIEWS = { group: session.group, name: 'tenants/patches:preview' };

export function Playground(props: { resource: Resource; tenant: KubeObject }): JSX.Element {
  const { resource, tenant } = props;
  const [text, setText] = useState(SAMPLE);
  /** Undefined until the settings of the tenant are there: a run without them tries no patch. */
  const [config, setConfig] = useState<string>();
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
  const run = async (config: string): Promise<void> => {
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
          if (config === undefined) return;
          setBusy(true);
          setFailure(undefined);
          run(config)
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
          <DirectionChoice
            value={direction}
            onChange={(next) => {
              setDirection(next);
              setResult([]);
            }}
          />
          <Actions
            {...{ resource, tenant, isBusy }}
            isReady={config !== undefined}
            onSave={
              source?.text === undefined || config === undefined || config === source.text
                ? undefined
                : () => setSaving(true)
            }
          />
        </div>
      </form>
      {isSaving && source !== undefined && config !== undefined ? (
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

function DirectionChoice(props: {
  readonly value: Direction;
  readonly onChange: (direction: Direction) => void;
}): JSX.Element {
  const { value, onChange } = props;
  return (
    <label>
      Direction{' '}
      <select
        value={value}
        onChange={({ currentTarget }) =>
          onChange(currentTarget.value === 'reverse' ? 'reverse' : 'forward')
        }
      >
        <option value="forward">to the control plane</option>
        <option value="reverse">back to the tenant</option>
      </select>
    </label>
  );
}

/** The buttons that the person may use, and the rights that the others take. */
function Actions(props: {
  readonly resource: Resource;
  readonly tenant: KubeObject;
  readonly isBusy: boolean;
  readonly isReady: boolean;
  /** Undefined: there is no change. */
  readonly onSave: (() => void) | undefined;
}): JSX.Element | null {
  const { resource, tenant, isBusy, isReady, onSave } = props;
  const rights = useRights();
  if (rights === undefined) return null;
  const mayRun = rights.may('create', PREVIEWS, tenant.metadata.name);
  const maySave = rights.mayPush && rights.may('update', resource, tenant);
  return (
    <>
      {mayRun ? (
        <button class="button primary" type="submit" disabled={isBusy || !isReady}>
          {isBusy ? 'Running…' : 'Run the patches'}
        </button>
      ) : (
        <span class="muted">
          Running patches takes the right to create <code>{PREVIEWS.name}</code>.
        </span>
      )}
      {maySave ? (
        <button class="button" type="button" disabled={onSave === undefined} onClick={onSave}>
          Save to the tenant
        </button>
      ) : (
        <span class="muted">
          Saving takes the rights to clone, to push and to update the tenant.
        </span>
      )}
    </>
  );
}

function Editor(props: {
  title: string;
  /** Undefined while it is loading. */
  text: string | undefined;
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
        value={text ?? ''}
        disabled={text === undefined}
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
        query: previewQuery(true),
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
