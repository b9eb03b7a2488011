/** Keys that act on every page. Pages and parts have further ones; `SHORTCUTS` lists all of them. */

/** True while a key belongs to the text that a person types. */
export function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLElement &&
    (target.closest('input, textarea, select, [contenteditable]') !== null ||
      target.shadowRoot !== null)
  );
}

export interface Shortcut {
  /** Each of them does it. */
  readonly keys: readonly string[];
  readonly does: string;
}

export const SHORTCUTS: readonly { readonly place: string; readonly items: readonly Shortcut[] }[] =
  [
    {
      place: 'Everywhere',
      items: [
        { keys: ['/', 'Ctrl+K'], does: 'Search; favourite and recent objects' },
        { keys: ['?'], does: 'This list' },
        { keys: ['Esc'], does: 'Close what is open; the focus goes back' },
      ],
    },
    {
      place: 'Lists of objects',
      items: [
        { keys: ['↑', '↓'], does: 'Previous and next object' },
        { keys: ['Page Up', 'Page Down'], does: 'One page' },
        { keys: ['Home', 'End'], does: 'First and last object' },
        { keys: ['Enter'], does: 'Open the object' },
      ],
    },
    {
      place: 'Editors of YAML',
      items: [
        { keys: ['Ctrl+S'], does: 'Save' },
        { keys: ['Ctrl+Space'], does: 'Fields and values that fit' },
        { keys: ['Ctrl+Z', 'Ctrl+Y'], does: 'Undo and redo' },
        { keys: ['Esc, then Tab'], does: 'Leave the editor' },
      ],
    },
    {
      place: 'Slider over the commits',
      items: [{ keys: ['←', '→'], does: 'Older and newer commit' }],
    },
  ];
