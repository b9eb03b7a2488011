/** Config: the raw YAML beside the status that it gives, problems at their lines, and tests of what it connects to. */
import type { JSX, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../../client/index.ts';
import { writing } from '../../api/client.ts';
import type { Condition, KubeObject, Resource } from '../../api/objects.ts';
import { announce } from '../announcement.ts';
import { Code } from '../components/code.tsx';
import { textOf } from '../components/difference.tsx';
import { createEditor, type Editor, type Mark } from '../components/editor.ts';
import { NotAllowed } from '../components/not-allowed.tsx';
import {
  Badge,
  Empty,
  ErrorNotice,
  Loading,
  Notice,
  PageHead,
  Panel,
} from '../components/parts.tsx';
import { errorOf, useLoad } from '../load.ts';
import { objectHref, resources } from '../resources.ts';
import { useRights } from '../rights.ts';
import { schemaOf } from '../schema.ts';
import { client } from '../session.ts';
import { ConnectorTests, StoreTest } from './config-tests.tsx';

export function ConfigPage(): JSX.Element {
  const resource = resources.value.find(({ name }) => name === 'config');
  return (
    <>
      <PageHead title="Config" />
      {resource === undefined ? <Loading /> : <Configs resource={resource} />}
    </>
  );
}

function Configs({ resource }: { resource: Resource }): JSX.Element {
  const list = useLoad((signal) => client.list(resource, { limit: 10, signal }), [resource]);
  const rights = useRights();
  if (list.error !== undefined) return <ErrorNotice error={list.error} />;
  if (list.value === undefined || rights === undefined) return <Loading />;
  const { items } = list.value;
  if (items.length === 0)
    return <Empty>The platform has no Config; its defaults are in force.</Empty>;
  return (
    <div class="stack">
      {items.map((config) => {
        const { name, resourceVersion } = config.metadata;
        const View = rights.may('patch', resource, name) ? ConfigEditor : ConfigView;
        return (
          <View key={`${name}${resourceVersion}`} {...{ config, resource }} reload={list.reload} />
        );
      })}
      <ConnectorTests />
      {rights.mayRequest('get', '/secret-store') ? (
        <StoreTest isAllowed={rights.mayRequest('post', '/secret-store/sync')} />
      ) : undefined}
    </div>
  );
}

interface EditorProps {
  readonly config: KubeObject;
  readonly resource: Resource;
  readonly reload: () => void;
}

/** For those who may read the configuration and not change it. */
function ConfigView({ config, resource }: EditorProps): JSX.Element {
  const { name } = config.metadata;
  const ref = { namespace: '', name };
  return (
    <>
      <Acting conditions={config.status?.conditions ?? []} />
      <div class="sides">
        <div class="stack">
          <Panel
            title="Raw configuration"
            aside={<a href={objectHref(resource, ref)}>{name}</a>}
            flush
          >
            <Code text={String(config.spec?.['raw'] ?? '')} label={`spec.raw of ${name}`} />
          </Panel>
          <p>
            <NotAllowed verb="patch" resource={resource} of={ref}>
              You may read the configuration, not change it.
            </NotAllowed>
          </p>
        </div>
        <ConfigStatus status={config.status} />
      </div>
    </>
  );
}

function ConfigStatus({ status }: { status: unknown }): JSX.Element {
  return (
    <div class="stack">
      <Panel title="Status" aside={<span class="muted">parsed, with defaults</span>}>
        <pre class="lines">{textOf(withoutConditions(status))}</pre>
      </Panel>
    </div>
  );
}

const PAUSE_MS = 500;

function ConfigEditor({ config, resource, reload }: EditorProps): JSX.Element {
  const saved = String(config.spec?.['raw'] ?? '');
  const [raw, setRaw] = useState(saved);
  const [reason, setReason] = useState('');
  const [checked, setChecked] = useState<Checked>();
  const { name } = config.metadata;
  const ref = { namespace: '', name };
  const write = async (dryRun: boolean, signal?: AbortSignal): Promise<KubeObject> =>
    await client.json<KubeObject>(client.objectPath(resource, ref), {
      ...writing({ dryRun, reason }),
      method: 'PATCH',
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion: config.metadata.resourceVersion }, spec: { raw } },
      signal,
    });
  const check = (signal?: AbortSignal): void => {
    write(true, signal).then(
      ({ status }) => setChecked({ raw, status }),
      (error: unknown) => {
        if (signal?.aborted !== true) setChecked({ raw, error: errorOf(error) });
      },
    );
  };
  const done = (): void => {
    announce('Committed');
    reload();
  };
  const save = (): void => {
    write(false).then(done, (error: unknown) => setChecked({ raw, error: errorOf(error) }));
  };
  // Problems appear at their lines while a person types.
  useEffect(() => {
    const gone = new AbortController();
    const timer = setTimeout(() => {
      if (raw === saved) setChecked(undefined);
      else check(gone.signal);
    }, PAUSE_MS);
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [raw]);
  const place = useRawEditor({ text: saved, name, checked, onChange: setRaw, onSave: save });
  return (
    <>
      <Acting conditions={config.status?.conditions ?? []} />
      <form
        class="sides"
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <div class="stack">
          <Panel
            title="Raw configuration"
            aside={<a href={objectHref(resource, ref)}>{name}</a>}
            flush
          >
            <div class="editor" ref={place} />
          </Panel>
          {checked?.error === undefined ? undefined : (
            <RawProblems error={checked.error} raw={checked.raw} />
          )}
          {checked?.error === undefined && checked !== undefined ? (
            <Notice tone="good" title="The configuration is valid">
              <p>The status on the other side is the one that it would give.</p>
            </Notice>
          ) : undefined}
          <label class="field">
            Reason, for the commit
            <input value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
          </label>
          <div class="actions">
            <button class="button" type="button" onClick={() => check()}>
              Check
            </button>
            <button class="button primary" type="submit" disabled={raw === saved}>
              Save
            </button>
          </div>
        </div>
        <ConfigStatus status={checked?.status ?? config.status} />
      </form>
    </>
  );
}

interface Checked {
  /** The text that was judged. */
  readonly raw: string;
  readonly error?: Error;
  readonly status?: unknown;
}

/** The editor of the text, with completion and descriptions of the settings, and marks at problems. */
function useRawEditor(of: {
  readonly text: string;
  readonly name: string;
  readonly checked: Checked | undefined;
  readonly onChange: (text: string) => void;
  readonly onSave: () => void;
}): RefObject<HTMLDivElement | null> {
  const { text, name, checked, onChange, onSave } = of;
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(undefined);
  const saveNow = useRef(onSave);
  saveNow.current = onSave;
  useEffect(() => {
    if (place.current === null) return;
    const label = `spec.raw of ${name}`;
    const made = createEditor(place.current, {
      ...{ text, label, onChange },
      onSave: () => saveNow.current(),
    });
    editor.current = made;
    void schemaOf('config-status').then((schema) => made.setSchema(schema));
    return () => made.destroy();
  }, []);
  useEffect(() => {
    editor.current?.setMarks(
      checked?.error === undefined ? [] : marksOf(checked.error, checked.raw),
    );
  }, [checked]);
  return place;
}

/** Problems name their place: `(line 3, column 5 of spec.raw)`. */
function marksOf(error: Error, raw: string): Mark[] {
  return textsOf(error).flatMap((message): Mark[] => {
    const [, line, column] = /\(line (\d+), column (\d+)/.exec(message) ?? [];
    if (line === undefined) return [];
    const above = raw.split('\n').slice(0, Number(line) - 1);
    const start = above.reduce((sum, text) => sum + text.length + 1, 0);
    const end = raw.indexOf('\n', start);
    const from = start + Number(column ?? 1) - 1;
    return [{ from, to: end < 0 ? raw.length : end, message, severity: 'error' }];
  });
}

function textsOf(error: Error): readonly string[] {
  const causes = error instanceof ApiError ? (error.status.details?.causes ?? []) : [];
  return causes.length === 0 ? [error.message] : causes.map(({ message = '' }) => message);
}

function withoutConditions(status: unknown): unknown {
  if (typeof status !== 'object' || status === null) return {};
  const { conditions: _conditions, ...settings } = status as Readonly<Record<string, unknown>>;
  return settings;
}

/** Conditions say what is in force, and what does not work. */
function Acting({ conditions }: { conditions: readonly Condition[] }): JSX.Element | null {
  if (conditions.length === 0) return null;
  return (
    <Panel title="In force" flush>
      <ul class="rows">
        {conditions.map(({ type, status, severity, reason, message }) => (
          <li key={type}>
            <div class="row-line">
              <Badge
                tone={
                  severity === 'Error'
                    ? 'alert'
                    : severity === 'Warning'
                      ? 'warn'
                      : status === 'True'
                        ? 'good'
                        : 'plain'
                }
              >
                {type}
              </Badge>
              <span class="row-title">{reason}</span>
            </div>
            <p class="message">{message}</p>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Problems name the line of the text: `(line 3, column 5 of spec.raw)`. */
function RawProblems({ error, raw }: { error: Error; raw: string }): JSX.Element {
  const texts = textsOf(error);
  const lines = raw.split('\n');
  return (
    <Notice tone="alert" title="The configuration is refused">
      <ul>
        {texts.map((text) => {
          const line = Number(/\(line (\d+), column \d+/.exec(text)?.[1] ?? 0);
          return (
            <li key={text}>
              <span class="message">{text}</span>
              {line > 0 ? (
                <pre class="lines">
                  {line}: {lines[line - 1]}
                </pre>
              ) : undefined}
            </li>
          );
        })}
      </ul>
    </Notice>
  );
}
