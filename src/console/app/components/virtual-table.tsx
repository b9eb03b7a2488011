/**
 * A table of any length: only the rows in view are in the document. Screen readers learn the number of
 * rows and the place of each. Arrow keys, Page Up and Page Down, Home and End move through the rows.
 *
 * A scroll changes texts and one transform: the row elements stay, each cell is a layout of its own, and
 * no style is computed anew.
 */
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

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
/** Rows above and below the view, so that a fast scroll shows no gap. */
const OVERSCAN = 8;
/** The first row moves in steps, so that a slow scroll renders rarely. */
const STEP = 8;

export function VirtualTable<Row>(props: VirtualTableProps<Row>): JSX.Element {
  const { label, columns, rows, onOpen } = props;
  const view = useRef<HTMLTableElement>(null);
  const { step, height } = useScroll(view);
  const { at, onKeyDown } = useCurrentRow(view, {
    height,
    length: rows.length,
    onOpen: (index) => {
      const row = rows[index];
      if (row !== undefined) onOpen(row);
    },
  });
  const inView = Math.ceil(height / ROW_PX) + STEP + 2 * OVERSCAN;
  const last = Math.min(rows.length, Math.max(0, step * STEP - OVERSCAN) + inView);
  const first = Math.max(0, last - inView);
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
  return (
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
  );
}

type View = RefObject<HTMLTableElement | null>;

/** The part of the table in view: its first row in steps, and its height in pixels. */
function useScroll(view: View): { readonly step: number; readonly height: number } {
  const [step, setStep] = useState(0);
  const [height, setHeight] = useState(800);
  useLayoutEffect(() => {
    const element = view.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    const read = (): void => setStep(Math.floor(element.scrollTop / (ROW_PX * STEP)));
    element.addEventListener('scroll', read, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', read);
    };
  }, []);
  return { step, height };
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
