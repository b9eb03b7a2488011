/** A part of the page that an action opens: it takes the focus, Escape closes it, and the focus goes back. */
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Also of an element that the opened part replaces. */
let lastFocused: HTMLElement | undefined;
document.addEventListener('focusin', ({ target }) => {
  if (target instanceof HTMLElement) lastFocused = target;
});

export function Opened(props: {
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { onClose, children } = props;
  const box = useRef<HTMLDivElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return;
    const opener = lastFocused;
    const name = nameOf(opener);
    current.focus();
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      event.preventDefault();
      close.current();
    };
    current.addEventListener('keydown', onKeyDown);
    return () => {
      current.removeEventListener('keydown', onKeyDown);
      const { activeElement } = document;
      const isElsewhere = activeElement !== document.body && !current.contains(activeElement);
      // The page has rendered what stood in the place of the part.
      if (!isElsewhere) queueMicrotask(() => focusAgain(opener, name));
    };
  }, []);
  return (
    <div class="opened" ref={box} tabIndex={-1}>
      {children}
    </div>
  );
}

function nameOf(element: Element | undefined): string {
  return element?.getAttribute('aria-label') ?? element?.textContent ?? '';
}

/** The opener, or the button that was rendered anew in its place, or the page. */
function focusAgain(opener: HTMLElement | undefined, name: string): void {
  const buttons = document.querySelectorAll<HTMLElement>('main button');
  const found =
    opener?.isConnected === true ? opener : [...buttons].find((one) => nameOf(one) === name);
  const target = found ?? document.querySelector<HTMLElement>('main');
  target?.focus({ preventScroll: found === undefined });
}
