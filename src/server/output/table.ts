/**
 * Tables: what kubectl prints (reference: Kubernetes API, section 2.17). The name comes first, then
 * the columns of the kind; dates are ages.
 */
import {
  badRequest,
  humanDuration,
  type KubeObject,
  type ObjectMeta,
} from '../../apimachinery/index.ts';
import { AGE, HEALTH, hasStatus, type Kind, type PrinterColumn } from '../../kinds/index.ts';
import type { Transform } from './negotiation.ts';

export type MetaVersion = Transform['version'];

/** Form of the object that a row has beside its cells. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableOptions {
  readonly version: MetaVersion;
  readonly includeObject: IncludeObject;
  /** Milliseconds since the epoch: ages count from here. */
  readonly now: number;
}

/** `metadata` of a list; of a table that holds one object, its resourceVersion. */
export interface ListMeta {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export interface Table {
  readonly kind: 'Table';
  readonly apiVersion: string;
  readonly metadata: ListMeta;
  readonly columnDefinitions: readonly ColumnDefinition[];
  readonly rows: readonly TableRow[];
}

interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

interface TableRow {
  readonly cells: readonly (string | number | boolean | null)[];
  readonly object: object | null;
}

export interface PartialObjectMetadata {
  readonly kind: 'PartialObjectMetadata';
  readonly apiVersion: string;
  readonly metadata: ObjectMeta;
}

/** Throws 400 for a word that is none of the three. */
export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') ?? '';
  if (value === '') return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

export function buildTable(
  kind: TableKind,
  content: { readonly metadata: ListMeta; readonly objects: readonly KubeObject[] },
  options: TableOptions,
): Table {
  const columns = columnsOf(kind);
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata: content.metadata,
    columnDefinitions: [NAME, ...columns.map(definition)],
    rows: content.objects.map((object) => row(object, columns, options)),
  };
}

/**
 * The table of one event of a watch. Only the first of a stream tells the columns; clients keep
 * them. Works for bookmarks too, whose objects have no name.
 */
export function buildEventTable(
  kind: TableKind,
  { object, first }: { readonly object: KubeObject; readonly first: boolean },
  options: TableOptions,
): Table {
  const { resourceVersion = '' } = object.metadata;
  const table = buildTable(kind, { metadata: { resourceVersion }, objects: [object] }, options);
  return first ? table : { ...table, columnDefinitions: [] };
}

export function partialMetadata(
  { metadata }: KubeObject,
  version: MetaVersion,
): PartialObjectMetadata {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata };
}

const NAME: ColumnDefinition = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object, unique within its namespace.',
  priority: 0,
};

type TableKind = Pick<Kind, 'columns'> & Partial<Pick<Kind, 'storedIn' | 'schema'>>;

function columnsOf({ columns, storedIn, schema }: TableKind): readonly PrinterColumn[] {
  const shown = columns.length > 0 ? columns : [AGE];
  if (storedIn !== 'git' && storedIn !== 'file') return shown;
  if (schema === undefined || !hasStatus({ schema })) return [...shown, { ...HEALTH, priority: 1 }];
  const last = shown.at(-1) === AGE ? -1 : shown.length;
  return [...shown.slice(0, last), HEALTH, ...shown.slice(last)];
}

function definition({ name, type, description, priority = 0 }: PrinterColumn): ColumnDefinition {
  return { name, type, format: '', description, priority };
}

function row(
  object: KubeObject,
  columns: readonly PrinterColumn[],
  options: TableOptions,
): TableRow {
  const cells = columns.map((column) => cell(column, object, options.now));
  return { cells: [object.metadata.name ?? '', ...cells], object: included(object, options) };
}

function cell(column: PrinterColumn, object: KubeObject, now: number): TableRow['cells'][number] {
  const value = column.value(object) ?? null;
  return column.type === 'date' && typeof value === 'string' ? age(value, now) : value;
}

function age(date: string, now: number): string {
  if (date === '') return '<unknown>';
  const then = Date.parse(date);
  return Number.isNaN(then) ? '<invalid>' : humanDuration(now - then);
}

function included(object: KubeObject, { includeObject, version }: TableOptions): object | null {
  switch (includeObject) {
    case 'None':
      return null;
    case 'Metadata':
      return partialMetadata(object, version);
    case 'Object':
      return object;
  }
}
