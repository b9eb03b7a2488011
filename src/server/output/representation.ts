/**
 * Objects, lists and other documents as bytes, in the form the client negotiated. Where the whole
 * object is asked for as JSON its ready bytes are used: nothing is encoded twice.
 */
import type { KubeObject } from '../../apimachinery/index.ts';
import type { Kind } from '../../kinds/index.ts';
import { shownBytes, shownObject, writeShown } from '../../registry/index.ts';
import { jsonParts, ListBytes, ListWriter } from './list-bytes.ts';
import { JSON_TYPE, type MediaChoice, negotiate, YAML_TYPE } from './negotiation.ts';
import {
  buildTable,
  type IncludeObject,
  type ListMeta,
  partialMetadata,
  type TableOptions,
} from './table.ts';
import { toYaml } from './yaml-output.ts';

export interface Encoded {
  readonly contentType: string;
  readonly body: Buffer;
  /** Bytes behind `body`, in parts. */
  readonly rest?: readonly Buffer[];
  /** Set if the body consists of these objects alone. */
  readonly shown?: ShownObjects;
}

/** Objects as JSON, alone or, with a head, in a list: see `listParts`. */
export interface ShownObjects {
  readonly head: string | undefined;
  readonly items: readonly ReadyObject[];
}

/** An object with its JSON, as the store has it. */
export interface ReadyObject {
  readonly object: KubeObject;
  json(): Buffer;
  /** Of what git has. */
  provenance?(): unknown;
}

/** Kind of the objects, with its columns. */
export type ShownKind = Pick<Kind, 'group' | 'version' | 'kind' | 'columns'> &
  Partial<Pick<Kind, 'storedIn' | 'schema' | 'blank' | 'follows'>>;

/** The negotiated form, with what a table needs beside it. */
export interface AnswerForm extends MediaChoice {
  readonly includeObject: IncludeObject;
  readonly now: number;
}

/**
 * For objects that are not in the store: results of a dry run, tokens that are kept nowhere. `before`:
 * the stored version of a deleted object.
 */
export function readyObject(object: KubeObject, before?: ReadyObject): ReadyObject {
  let bytes: Buffer | undefined;
  return {
    object,
    ...(before?.provenance === undefined ? {} : { provenance: () => before.provenance?.() }),
    json: () => {
      bytes ??= Buffer.from(JSON.stringify(object));
      return bytes;
    },
  };
}

/** Any other document: a Status, a review, a table. */
export function encodeDocument(
  value: object,
  { mediaType, pretty }: Pick<MediaChoice, 'mediaType' | 'pretty'>,
): Encoded {
  if (mediaType === YAML_TYPE) return { contentType: YAML_TYPE, body: Buffer.from(toYaml(value)) };
  const text = pretty ? `${JSON.stringify(value, null, 2)}\n` : JSON.stringify(value);
  return { contentType: JSON_TYPE, body: Buffer.from(text) };
}

/** A failure, in a form that the client reads; as JSON where it reads none. */
export function encodeStatus(status: object, accept: string | undefined): Encoded {
  return encodeDocument(status, { mediaType: readable(accept), pretty: false });
}

function readable(accept: string | undefined): MediaChoice['mediaType'] {
  try {
    const wish = { accept, userAgent: undefined, query: new URLSearchParams() };
    return negotiate(wish, 'object').mediaType;
  } catch {
    return JSON_TYPE;
  }
}

export function encodeObject(kind: ShownKind, ready: ReadyObject, form: AnswerForm): Encoded {
  switch (form.transform?.kind) {
    case undefined:
      // Asking for the object would parse it.
      if (!hasReadyForm(form)) return encodeDocument(shownObject(kind, ready), form);
      return {
        contentType: JSON_TYPE,
        body: shownBytes(kind, ready),
        shown: { head: undefined, items: [ready] },
      };
    case 'Table': {
      const object = shownObject(kind, ready);
      const metadata = { resourceVersion: object.metadata.resourceVersion ?? '' };
      const content = { metadata, objects: [object] };
      return encodeDocument(buildTable(kind, content, tableOptions(form)), form);
    }
    default:
      return encodeDocument(partialMetadata(shownObject(kind, ready), metaVersion(form)), form);
  }
}

export interface ObjectList {
  readonly metadata: ListMeta;
  readonly items: readonly ReadyObject[];
  /** Bytes of the list behind its head, where they were made before. */
  readonly parts?: readonly Buffer[] | undefined;
}

export function encodeList(kind: ShownKind, list: ObjectList, form: AnswerForm): Encoded {
  const { metadata, items } = list;
  const head = { kind: `${kind.kind}List`, apiVersion: versionOf(kind), metadata };
  if (form.transform === undefined && hasReadyForm(form)) {
    const shown = { head: JSON.stringify(head), items };
    const make = (): readonly Buffer[] =>
      list.parts ?? jsonParts(items.map((item) => ({ json: () => shownBytes(kind, item) })));
    return { contentType: JSON_TYPE, ...listParts(shown.head, items, make), shown };
  }
  const objects = items.map((item) => shownObject(kind, item));
  switch (form.transform?.kind) {
    case undefined:
      return encodeDocument({ ...head, items: objects }, form);
    case 'Table':
      return encodeDocument(buildTable(kind, { metadata, objects }, tableOptions(form)), form);
    default: {
      const version = metaVersion(form);
      const partial = {
        kind: 'PartialObjectMetadataList',
        apiVersion: `meta.k8s.io/${version}`,
        metadata,
        items: objects.map((object) => partialMetadata(object, version)),
      };
      return encodeDocument(partial, form);
    }
  }
}

const ready = new ListBytes();

const MANY = 256;

/** Bytes of the items of a long list, made while others have their turn; undefined where they are few, or no bytes are asked for. */
export async function preparedParts(
  kind: ShownKind,
  items: readonly ReadyObject[],
  form: AnswerForm,
): Promise<readonly Buffer[] | undefined> {
  const isBytes = form.transform === undefined && hasReadyForm(form);
  if (!isBytes || items.length < MANY) return undefined;
  return await ready.prepared(items, async () => {
    const writer = new ListWriter();
    await writeShown(kind, items, writer);
    return writer.end();
  });
}

/** `head` without its last brace, then the items. */
export function listParts(
  head: string,
  items: readonly Pick<ReadyObject, 'json'>[],
  make = (): readonly Buffer[] => jsonParts(items),
): { readonly body: Buffer; readonly rest: readonly Buffer[] } {
  return { body: Buffer.from(`${head.slice(0, -1)},"items":`), rest: ready.of(items, make) };
}

function hasReadyForm({ mediaType, pretty }: MediaChoice): boolean {
  return mediaType === JSON_TYPE && !pretty;
}

export function tableOptions(form: AnswerForm): TableOptions {
  return { version: metaVersion(form), includeObject: form.includeObject, now: form.now };
}

export function metaVersion(form: AnswerForm): TableOptions['version'] {
  return form.transform?.version ?? 'v1';
}

/** `v1` for the core group, which has no name. */
export function versionOf(kind: ShownKind): string {
  return kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
}
