/**
 * Characters that reverse the text behind them (U+202E and its kind) are shown by their number. A name of
 * another person cannot read as another name, and a changed line cannot read as another line.
 */
import { options } from 'preact';

const ORDERING = /[\u202a-\u202e\u2066-\u2069]/g;

export function visibleText(text: string): string {
  return text.replace(
    ORDERING,
    (char) => `[U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}

/** For every text that is rendered. Values of inputs stay as they are. */
export function showControlCharacters(): void {
  const { vnode: before } = options;
  options.vnode = (vnode) => {
    // The props of a text are the text.
    const { type, props }: { readonly type: unknown; readonly props: unknown } = vnode;
    if (type === null && typeof props === 'string') {
      Object.assign(vnode, { props: visibleText(props) });
    }
    before?.(vnode);
  };
}
