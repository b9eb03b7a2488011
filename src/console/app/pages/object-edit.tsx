/** The editor of an object: problems while typing, the bytes of the change, the reason, the commit. */
import type { JSX, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../../client/index.ts';
import { writing } from '../../api/client.ts';
import type { KubeObject, ObjectSource } from '../../api/objects.ts';
import { announce } from '../announcement.ts';
import { createEditor, type Editor } from '../components/editor.ts';
import { ErrorNotice, Loading, Notice, Panel } from '../components/parts.tsx';
import type { FormEdits } from '../components/schema-form.tsx';
import { type Check, check, type Sent, save, type Target } from '../edit/checks.ts';
import {
  desired,
  NEW_VALUE,
  readDraft,
  secretPaths,
  template,
  textOf,
  UNCHANGED,
  valueAt,
} from '../edit/draft.ts';
import { type Merged, mergeFields } from '../edit/merge.ts';
import { type Path, withValue } from '../edit/splice.ts';
import { isDegraded } from '../health.ts';
import { errorOf, useLoad } from '../load.ts';
import { go } from '../location.ts';
import { editView } from '../memory.ts';
import { DEFAULT_NAMESPACE, objectHref } from '../resources.ts';
import { useRights } from '../rights.ts';
import { type Schema, schemaOf } from '../schema.ts';
import { client } from '../session.ts';
import { ChangePreview, Verdict } from './edit-change.tsx';
import { Commit } from './edit-commit.tsx';
import { Conflict } from './edit-conflict.tsx';
import { DeleteObject } from './edit-delete.tsx';
import { ObjectForm } from './edit-form.tsx';
import { NotEditable } from './edit-refused.tsx';
import { base64, generated, SecretValues } from './edit-secrets.tsx';
import { EditViews } from './edit-views.tsx';
import type { ObjectTabProps } from './object-tab.ts';

interface Basis {
  readonly text: string;
  readonly schema: Schema | undefined;
  /** The object that the edit began from. Undefined: it is new. */
  readonly object: KubeObject | undefined;
  /** The manifest in git. Undefined: it is new, or hidden, or the text has placeholders. */
  readonly source: ObjectSource | undefined;
  /** True: the person may not see the manifest in git, and edits the object of the API. */
  readonly isHidden?: boolean;
}

export function ObjectEdit(props: ObjectTabProps): JSX.Element {
  const { resource, of, object } = props;
  const rights = useRights(of.namespace);
  // Later changes by others become a conflict when this one is saved.
  const basis = useLoad(async (): Promise<Basis> => {
    const schema = await schemaOf(resource.kind);
    const hasSource = resource.subresources.includes('source');
    // The object is read first: a text without a change that the object has would take it back.
    const current = await client.get(resource, of);
    const source = hasSource ? await client.source(resource, of) : undefined;
    const text = textOf(current, { source: source?.text, schema });
    const isHidden = hasSource && source?.text === undefined;
    const own = text === source?.text ? source : undefined;
    return { text, schema, object: current, source: own, isHidden };
  }, []);
  const { error } = basis;
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (basis.value === undefined || rights === undefined) return <Loading />;
  return (
    <>
      {rights.may('update', resource, basis.value.object) ? (
        <Form target={{ resource, ref: of }} basis={basis.value} />
      ) : (
        <NotEditable {...props} />
      )}
      {object === undefined || !rights.may('delete', resource, object) ? undefined : (
        <DeleteObject resource={resource} of={of} mayClone={rights.mayClone} />
      )}
    </>
  );
}

/** A new object of a kind. */
export function ObjectCreate({
  resource,
  namespace,
}: Pick<ObjectTabProps, 'resource'> & { readonly namespace: string | undefined }): JSX.Element {
  const schema = useLoad(() => schemaOf(resource.kind), [resource]);
  if (schema.isLoading) return <Loading />;
  const { group, version, kind } = resource;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const own = resource.namespaced ? (namespace ?? DEFAULT_NAMESPACE) : undefined;
  const text = template({ apiVersion, kind, namespace: own, schema: schema.value });
  const basis = { text, schema: schema.value, object: undefined, source: undefined };
  return <Form target={{ resource, ref: undefined }} basis={basis} />;
}

const PAUSE_MS = 350;

/** The text, the object that it changes, and its save. */
function useEdit(given: Target, basis: Basis) {
  const [target, setTarget] = useState(given);
  const [saved, setSaved] = useState(basis.text);
  const [text, setText] = useState(basis.text);
  const [object, setObject] = useState(basis.object);
  const [source, setSource] = useState(basis.source);
  const [values, setValues] = useState<ReadonlyMap<string, string>>(new Map());
  const valuesNow = useRef(values);
  valuesNow.current = values;
  const [reason, setReason] = useState('');
  const [merged, setMerged] = useState<Merged>();
  const [{ isBusy, error }, setState] = useState<{ isBusy: boolean; error?: Error }>({
    isBusy: false,
  });
  const [force, setForce] = useState(false);
  const isBroken = object !== undefined && isDegraded(object);
  // The text in git is mended as it stands; without it, the last good version takes its place.
  const isOutdated = isBroken && source === undefined;
  const result = useCheck(target, { text, object, source, values, force, isBusy });
  const isHeld = mayNotSave({ isBusy, source, result });
  const { place, saveNow, textNow, replaceText } = useYaml(basis, result, setText);
  /** Takes the changes of others since `from` into the text. */
  const takeOthers = async (
    at: Target,
    from: KubeObject | undefined,
  ): Promise<Merged | undefined> => {
    const others = await mergeOthers(at, {
      ...{ object: from, source, valuesNow, textNow },
      schema: basis.schema,
    });
    if (others === undefined) return undefined;
    setObject(others.object);
    setSource(others.source);
    replaceText(others.text);
    return others.merged;
  };
  /** Continues with what was typed during the save, on top of what was saved. */
  const goOn = async (next: Target, written: KubeObject): Promise<void> => {
    setTarget(next);
    setSaved(text);
    setReason((now) => (now === reason ? '' : now));
    setObject(written);
    setForce(false);
    const found = await takeOthers(next, written);
    const isChanged = found !== undefined && found.taken.length + found.conflicts.length > 0;
    setMerged(isChanged ? found : undefined);
    setState({ isBusy: false });
  };
  const fail = async (failure: unknown): Promise<void> => {
    // A refusal because of the manifest in git is no conflict with another change.
    const isConflict = failure instanceof ApiError && failure.code === 409 && !isBroken;
    const found = isConflict ? await takeOthers(target, object) : undefined;
    if (found !== undefined) setMerged(found);
    setState({ isBusy: false, error: errorOf(failure) });
  };
  const write = async (of: Record<string, unknown>): Promise<void> => {
    const { headers = {} } = writing({ reason });
    const sent = { object: versioned(of, object), source: sourceOf(text, source), force };
    const written = await save(target, { sent, savesText: result?.savesText === true }, headers);
    const { name, namespace = '' } = written.metadata;
    const ref = target.ref ?? { name, namespace };
    announce('Committed');
    // The person has left the page.
    if (place.current === null) return;
    const isLater = textNow() !== text || valuesNow.current !== values;
    if (isLater) await goOn({ resource: target.resource, ref }, written);
    else go(objectHref(target.resource, ref));
  };
  const submit = async (): Promise<void> => {
    const draft = readDraft(text, { current: object, values });
    if (draft.object === undefined || isHeld) return;
    setState({ isBusy: true });
    await write(draft.object)
      .catch(fail)
      .catch((unread: unknown) => setState({ isBusy: false, error: errorOf(unread) }));
  };
  saveNow.current = () => void submit();
  return {
    ...{ target, text, object, source, values, setValues, reason, setReason, merged, error },
    ...{ force, setForce, isOutdated, isHeld, result, place, replaceText, submit },
    isUnchanged: text === saved && values.size === 0,
  };
}

function Form({ target: given, basis }: { target: Target; basis: Basis }): JSX.Element {
  const edit = useEdit(given, basis);
  const { target, text, object, source, values, isOutdated, isUnchanged, result } = edit;
  const { merged, force, setForce, reason, setReason, error, place, replaceText, submit } = edit;
  const draft = readDraft(text, { current: object, values });
  const setSecret = (path: Path, value: string, next: string): void => {
    edit.setValues(new Map([...values, [path.join('.'), value]]));
    replaceText(next);
  };
  return (
    <div class={`columns editing-${editView.value}`}>
      <div class="column wide">
        {basis.isHidden === true ? (
          <Notice tone="info">
            <p>
              This is the object as the API shows it. Its manifest in git takes the right to clone
              the repository. Saving changes fields, and the comments of the manifest stay.
            </p>
          </Notice>
        ) : undefined}
        {merged === undefined ? undefined : (
          <Conflict
            merged={merged}
            onTake={(path, value) => replaceText(withValue(text, path, value))}
          />
        )}
        <Manifest
          {...{ target, result, place }}
          isOutdated={isOutdated && isUnchanged && !force}
          schema={basis.schema}
          object={draft.shown}
          edits={{
            onChange: (path, value) => replaceText(withValue(text, path, value)),
            onNewSecret: (path) =>
              setSecret(path, base64(generated()), withValue(text, path, NEW_VALUE)),
          }}
        />
        <SecretValues
          paths={secretPaths(draft.object, basis.schema)}
          text={text}
          current={object}
          values={values}
          onSet={setSecret}
        />
      </div>
      <div class="column">
        <Commit
          isNew={target.ref === undefined}
          isDisabled={edit.isHeld || (isUnchanged && !force)}
          force={isOutdated ? { value: force, set: setForce } : undefined}
          error={error}
          losesComments={result !== undefined && !result.savesText && source !== undefined}
          {...{ reason, setReason }}
          onSubmit={() => void submit()}
        />
        <ChangePreview result={result} isUnchanged={isUnchanged && !force} />
      </div>
    </div>
  );
}

/** Only the check tells if a save may write the text: fields would lose its comments. */
function mayNotSave(of: {
  readonly isBusy: boolean;
  readonly source: ObjectSource | undefined;
  readonly result: Check | undefined;
}): boolean {
  return of.isBusy || (of.source !== undefined && of.result === undefined);
}

/** The YAML editor, with the marks of the check. */
function useYaml(
  { text, schema }: Pick<Basis, 'text' | 'schema'>,
  result: Check | undefined,
  onChange: (text: string) => void,
) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(undefined);
  const saveNow = useRef<() => void>(() => undefined);
  useEffect(() => {
    if (place.current === null) return;
    const onSave = (): void => saveNow.current();
    const made = createEditor(place.current, { text, label: 'Manifest', onChange, onSave });
    made.setSchema(schema);
    editor.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => editor.current?.setMarks(result?.marks ?? []), [result]);
  const textNow = (): string => editor.current?.text ?? text;
  const replaceText = (next: string): void => {
    if (next !== textNow()) editor.current?.setText(next);
  };
  return { place, saveNow, textNow, replaceText };
}

/** The object as others changed it, and the text with their changes. Undefined: there is nothing to merge into. */
async function mergeOthers(
  { resource, ref }: Target,
  of: Pick<Basis, 'object' | 'source' | 'schema'> & {
    readonly valuesNow: { readonly current: ReadonlyMap<string, string> };
    readonly textNow: () => string;
  },
): Promise<(Pick<Basis, 'text' | 'object' | 'source'> & { readonly merged: Merged }) | undefined> {
  if (ref === undefined || of.object === undefined) return undefined;
  // The text in git is read first: an object that is newer makes the next save a conflict again.
  const source = of.source && (await client.source(resource, ref));
  const object = await client.get(resource, ref);
  // The person may have typed meanwhile.
  const before = of.textNow();
  const values = of.valuesNow.current;
  const { object: mine, shown } = readDraft(before, { current: of.object, values });
  const base = desired(of.object);
  const { taken, conflicts } = mergeFields({ base, mine: mine ?? base, theirs: desired(object) });
  // A text that has an error just now takes no change: the next save is a conflict again.
  if (mine === undefined && taken.length > 0) return undefined;
  const secrets = new Set(secretPaths(object, of.schema).map((path) => path.join('.')));
  // The placeholder means the value of `object` from here on, and keeps it out of sight.
  const seen = (path: Path, value: unknown): unknown =>
    secrets.has(path.join('.')) ? UNCHANGED : value;
  const merged: Merged = {
    taken: taken.map(({ path, value }) => ({ path, value: seen(path, value) })),
    conflicts: conflicts.map(({ path, theirs }) => ({
      ...{ path, mine: valueAt(shown, path), theirs: seen(path, theirs) },
    })),
  };
  const text = merged.taken.reduce((own, { path, value }) => withValue(own, path, value), before);
  return { text, object, source, merged };
}

/** The form and the YAML, both or one of them. */
function Manifest(props: {
  readonly target: Target;
  readonly result: Check | undefined;
  readonly isOutdated: boolean;
  readonly schema: Schema | undefined;
  readonly object: Readonly<Record<string, unknown>> | undefined;
  readonly edits: FormEdits;
  /** The element of the YAML editor. */
  readonly place: RefObject<HTMLDivElement | null>;
}): JSX.Element {
  const { target, result, isOutdated, schema, object, edits, place } = props;
  const aside = (
    <>
      <Verdict {...{ result, isOutdated }} />
      <EditViews />
    </>
  );
  return (
    <Panel title="Manifest" flush aside={aside}>
      <div class="edit-both">
        {editView.value === 'yaml' ? undefined : (
          <ObjectForm
            {...{ object, schema, edits }}
            isNew={target.ref === undefined}
            isNamespaced={target.resource.namespaced}
          />
        )}
        <div class="editor" ref={place} hidden={editView.value === 'form'} />
      </div>
    </Panel>
  );
}

/** The text as it would stand in git. The editor has one kind of line break. */
function sourceOf(text: string, source: ObjectSource | undefined): Sent['source'] {
  const before = source?.text ?? '';
  const isWindows = before.includes('\r\n');
  const isMixed = isWindows && /(?<!\r)\n/.test(before);
  const hasPlaceholder = [UNCHANGED, NEW_VALUE].some((one) => text.includes(one));
  if (source === undefined || isMixed || hasPlaceholder) return undefined;
  const { revision } = source;
  return { revision, text: isWindows ? text.replaceAll(/\r?\n/g, '\r\n') : text };
}

/** Without the version a write would not notice that another one was faster. */
function versioned(
  object: Record<string, unknown>,
  current: KubeObject | undefined,
): Record<string, unknown> {
  const { resourceVersion } = current?.metadata ?? {};
  const metadata = object['metadata'] as object | undefined;
  return resourceVersion === undefined
    ? object
    : { ...object, metadata: { ...metadata, resourceVersion } };
}

/** Undefined: the check is under way. */
function useCheck(
  target: Target,
  of: {
    readonly text: string;
    readonly object: KubeObject | undefined;
    readonly source: ObjectSource | undefined;
    readonly values: ReadonlyMap<string, string>;
    readonly force: boolean;
    /** True while the change is saved: a check would find a conflict with it. */
    readonly isBusy: boolean;
  },
): Check | undefined {
  const { text, object, source, values, force, isBusy } = of;
  const [result, setResult] = useState<Check>();
  useEffect(() => {
    if (isBusy) return;
    const gone = new AbortController();
    const timer = setTimeout(() => {
      const draft = readDraft(text, { current: object, values });
      const versionless = { ...draft, object: draft.object && versioned(draft.object, object) };
      check(target, versionless, {
        source: sourceOf(text, source),
        force,
        signal: gone.signal,
      }).then(
        (found) => {
          if (!gone.signal.aborted) setResult(found);
        },
        (error: unknown) => {
          if (gone.signal.aborted) return;
          // It says nothing about the right to push, and a save that writes fields loses comments.
          setResult((last) => ({
            marks: [],
            preview: undefined,
            error: errorOf(error),
            savesText: last?.savesText ?? source !== undefined,
          }));
        },
      );
    }, PAUSE_MS);
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [text, object, source, values, force, isBusy]);
  return result;
}
