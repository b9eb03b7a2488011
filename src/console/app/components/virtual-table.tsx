/**
 * A table of any length: only the rows in view are in the document. Screen readers learn the number of
 * rows and the place of each. Arrow keys, Page Up and Page Down, Home and End move through the rows.
 *
 * A scroll changes texts and one transform: the row elements stay in their order, each cell is a layout of
 * its own, and no style is computed anew. A scroll by more than the view renders the rows in view alone; the
 * rows above and below follow when the scroll rests.
 */
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

export interface VirtualColumn<Row> {
  readonly name: string;
  readonly description?: string;
  /** A track of `grid-template-columns`. */
  readonly width: string;
  readonly isNumber?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}

export interface VirtualTableProps<Row> {
  readonly label: string;
  readonly columns: readonly VirtualColumn<Row>[];
  readonly rows: readonly Row[];
  readonly onOpen: (row: Row) => void;
  readonly sortedBy?: { readonly column: string; readonly isDescending: boolean };
  readonly onSort?: (column: string) => void;
}

const ROW_PX = 40;
/** Rows of a table that may be lower than its place. */
const SHORT_ROWS = 40;
/** Rows above and below the view, so that a fast scroll shows no gap. */
const OVERSCAN = 8;
/** The first row moves in steps, so that a slow scroll renders rarely. */
const STEP = 8;
/** A scroll that rests this long is over. */
const REST_MS = 100;

export function VirtualTable<Row>(props: VirtualTableProps<Row>): JSX.Element {
  const { label, columns, rows, onOpen } = props;
  const view = useRef<HTMLTableElement>(null);
  const { top, isFast, height } = useScroll(view);
  const { at, onKeyDown } = useCurrentRow(view, {
    height,
    length: rows.length,
    onOpen: (index) => {
      const row = rows[index];
      if (row !== undefined) onOpen(row);
    },
  });
  const spare = isFast ? 0 : OVERSCAN;
  const rendered = Math.ceil(height / ROW_PX) + (isFast ? 1 : STEP) + 2 * spare;
  const last = Math.min(rows.length, Math.max(0, top - spare) + rendered);
  const first = Math.max(0, last - rendered);
  const template = columns.map(({ width }) => width).join(' ');
  return (
    <table
      class="vtable"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      ref={view}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls takes the keyboard
      tabIndex={0}
      onKeyDown={onKeyDown}
      style={{ maxHeight: mostHeight(rows.length) }}
    >
      <Head {...props} template={template} />
      <tbody class="vbody" style={{ transform: `translateY(${first * ROW_PX}px)` }}>
        {rows.slice(first, last).map((row, offset) => (
          <Row
            // Elements are used again for other rows.
            key={offset}
            columns={columns}
            row={row}
            index={first + offset}
            isCurrent={first + offset === at}
            template={template}
          />
        ))}
      </tbody>
      <tfoot class="vspace" aria-hidden="true" style={{ height: `${rows.length * ROW_PX}px` }} />
    </table>
  );
}

/** A short table ends with its last row, and its border. Empty: more rows may be on their way. */
function mostHeight(rows: number): string | undefined {
  return rows === 0 || rows > SHORT_ROWS ? undefined : `${(rows + 1) * ROW_PX + 3}px`;
}

function Head<Row>(props: VirtualTableProps<Row> & { readonly template: string }): JSX.Element {
  const { columns, sortedBy, onSort, template } = props;
  return (
    <thead class="vhead">
      <tr class="vrow" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
        {columns.map(({ name, description, isNumber }) => (
          <th
            key={name}
            scope="col"
            title={description}
            class={isNumber === true ? 'number' : undefined}
            aria-sort={ariaSort(sortedBy, name)}
          >
            {onSort === undefined ? (
              name
            ) : (
              <button type="button" onClick={() => onSort(name)}>
                {name}
              </button>
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function Row<Item>(props: {
  readonly columns: readonly VirtualColumn<Item>[];
  readonly row: Item;
  readonly index: number;
  readonly isCurrent: boolean;
  readonly template: string;
}): JSX.Element {
  const { columns, row, index, isCurrent, template } = props;
  // Preact leaves out an element that is the one of before: a change of one row renders that row.
  return useMemo(
    () => (
      <tr
        class="vrow"
        aria-rowindex={index + 2}
        data-current={isCurrent ? '' : undefined}
        style={{ gridTemplateColumns: template }}
      >
        {columns.map(({ name, isNumber, cell }) => (
          <td key={name} class={isNumber === true ? 'number' : undefined}>
            {cell(row)}
          </td>
        ))}
      </tr>
    ),
    [columns, row, index, isCurrent, template],
  );
}

type View = RefObject<HTMLTableElement | null>;

interface Scroll {
  /** The first row in view; in steps while the scroll is slow. */
  readonly top: number;
  /** True while a scroll goes by more than the view at once. */
  readonly isFast: boolean;
}

/** The part of the table in view, and its height in pixels. */
function useScroll(view: View): Scroll & { readonly height: number } {
  const [scroll, setScroll] = useState<Scroll>({ top: 0, isFast: false });
  const [height, setHeight] = useState(800);
  useLayoutEffect(() => {
    const element = view.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    let before = element.scrollTop;
    let rest: ReturnType<typeof setTimeout> | undefined;
    const show = (isFast: boolean): void => {
      const row = Math.floor(element.scrollTop / ROW_PX);
      const top = isFast ? row : row - (row % STEP);
      setScroll((shown) =>
        shown.top === top && shown.isFast === isFast ? shown : { top, isFast },
      );
    };
    const read = (): void => {
      const isFast = Math.abs(element.scrollTop - before) > element.clientHeight;
      before = element.scrollTop;
      clearTimeout(rest);
      if (isFast) rest = setTimeout(() => show(false), REST_MS);
      show(isFast);
    };
    element.addEventListener('scroll', read, { passive: true });
    return () => {
      observer.disconnect();
      clearTimeout(rest);
      element.removeEventListener('scroll', read);
    };
  }, []);
  return { ...scroll, height };
}

/** The row that the keyboard moves, which is scrolled into view. */
function useCurrentRow(
  view: View,
  of: {
    readonly height: number;
    readonly length: number;
    readonly onOpen: (index: number) => void;
  },
): { readonly at: number; readonly onKeyDown: (event: KeyboardEvent) => void } {
  const { height, length, onOpen } = of;
  const [at, setAt] = useState(-1);
  const page = Math.max(1, Math.floor(height / ROW_PX) - 2);
  const move = (next: number): void => {
    const index = Math.min(Math.max(next, 0), length - 1);
    setAt(index);
    const element = view.current;
    if (element === null) return;
    const top = index * ROW_PX;
    // The head covers one row.
    const bottom = top + 2 * ROW_PX;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + height) element.scrollTop = bottom - height;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: length - 1,
    };
    const next = moves[event.key];
    if (next !== undefined) move(next);
    else if (event.key === 'Enter' && event.target === view.current) onOpen(at);
    else return;
    event.preventDefault();
  };
  return { at, onKeyDown };
}

function ariaSort(
  sortedBy: VirtualTableProps<never>['sortedBy'],
  name: string,
): 'ascending' | 'descending' | undefined {
  if (sortedBy?.column !== name) return undefined;
  return sortedBy.isDescending ? 'descending' : 'ascending';
}
