/** The list of keyboard shortcuts, opened with `?`. */
import { signal } from '@preact/signals';
import { Fragment, type JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { isTyping, SHORTCUTS } from '../keyboard.ts';
import { Icon } from './icons.tsx';

const isOpen = signal(false);

export function openShortcuts(): void {
  isOpen.value = true;
}

export function Shortcuts(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const open = (event: KeyboardEvent): void => {
      if (event.key !== '?' || event.ctrlKey || event.metaKey || isTyping(event)) return;
      event.preventDefault();
      openShortcuts();
    };
    addEventListener('keydown', open);
    return () => removeEventListener('keydown', open);
  }, []);
  useEffect(() => {
    if (isOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen.value]);
  const close = (): void => {
    isOpen.value = false;
  };
  return (
    <dialog
      ref={dialog}
      class="shortcuts"
      aria-labelledby="shortcuts-title"
      onClose={close}
      // A click beside the dialog closes it.
      {...{ closedby: 'any' }}
    >
      <header class="panel-head">
        <h2 id="shortcuts-title">Keyboard shortcuts</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <div class="shortcut-groups">
        {SHORTCUTS.map(({ place, items }) => (
          <section key={place}>
            <h3>{place}</h3>
            <dl>
              {items.map(({ keys, does }) => (
                <div key={does}>
                  <dt>
                    {keys.map((key, index) => (
                      <Fragment key={key}>
                        {index === 0 ? '' : ' '}
                        <kbd>{key}</kbd>
                      </Fragment>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </dialog>
  );
}
