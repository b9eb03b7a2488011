/** Search over all objects, opened with `/`. Without words it shows favourite and recent objects. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isTyping } from '../keyboard.ts';
import { go } from '../location.ts';
import { favourites, type Remembered, recents } from '../memory.ts';
import { named, objectHref } from '../resources.ts';
import { client, session } from '../session.ts';
import { Icon, type IconName } from './icons.tsx';

const isOpen = signal(false);
const MOST_HITS = 20;
const PAUSE_MS = 120;

export function openSearch(): void {
  isOpen.value = true;
}

interface Hit {
  readonly id: string;
  readonly icon: IconName;
  readonly kind: string;
  readonly name: string;
  readonly note: string;
  readonly href: string;
}

export function Search(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  // The key acts as soon as the page is there.
  useLayoutEffect(() => {
    const open = (event: KeyboardEvent): void => {
      const isWanted =
        (event.key === '/' && !isTyping(event)) ||
        (event.key === 'k' && (event.metaKey || event.ctrlKey));
      if (!isWanted || event.altKey) return;
      event.preventDefault();
      openSearch();
    };
    addEventListener('keydown', open);
    return () => removeEventListener('keydown', open);
  }, []);
  // Before the next key: what a person types at once belongs to the field.
  useLayoutEffect(() => {
    if (isOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen.value]);
  const close = (): void => {
    isOpen.value = false;
  };
  return (
    <dialog
      ref={dialog}
      class="search"
      aria-label="Search"
      onClose={close}
      // A click beside the dialog closes it.
      {...{ closedby: 'any' }}
    >
      {isOpen.value ? <SearchBox close={close} /> : undefined}
    </dialog>
  );
}

function SearchBox({ close }: { close: () => void }): JSX.Element {
  const [text, setText] = useState('');
  const { hits, problem, isLoading } = useHits(text);
  const [at, setAt] = useState(0);
  useEffect(() => setAt(0), [hits]);
  const choose = (hit: Hit | undefined): void => {
    if (hit === undefined) return;
    close();
    go(hit.href);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') choose(hits[at]);
    else if (step !== undefined && hits.length > 0) setAt((at + step + hits.length) % hits.length);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    document.getElementById(`hit-${at}`)?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  return (
    <div class="search-box">
      <div class="search-field">
        <Icon name="search" />
        <input
          ref={(input) => input?.focus()}
          type="text"
          role="combobox"
          aria-label="Search objects"
          aria-expanded="true"
          aria-controls="hits"
          aria-activedescendant={hits.length > 0 ? `hit-${at}` : undefined}
          placeholder="Name, kind:team, ns:payments, owner:ada, label:tier=one"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <button type="button" class="icon-button" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <div id="hits" class="hits" role="listbox" aria-label="Objects">
        {hits.map((hit, index) => (
          <div
            key={hit.id}
            id={`hit-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onMouseMove={() => setAt(index)}
            onClick={() => choose(hit)}
            onKeyDown={onKeyDown}
          >
            <Icon name={hit.icon} />
            <span class="hit-name">{hit.name}</span>
            <span class="hit-note">{hit.note}</span>
            <span class="hit-kind">{hit.kind}</span>
          </div>
        ))}
      </div>
      {hits.length > 0 ? undefined : (
        <p class="empty" role="status">
          {problem ?? (isLoading ? 'Searching…' : text === '' ? NOTHING_YET : 'Nothing is found.')}
        </p>
      )}
    </div>
  );
}

const NOTHING_YET = 'Type to search all objects. Objects that you open are listed here.';

function useHits(text: string): {
  readonly hits: readonly Hit[];
  readonly problem: string | undefined;
  readonly isLoading: boolean;
} {
  const [found, setFound] = useState<{ of: string; hits: readonly Hit[]; problem?: string }>({
    of: '',
    hits: [],
  });
  const wanted = text.trim();
  useEffect(() => {
    if (wanted === '') return;
    const gone = new AbortController();
    const timer = setTimeout(() => {
      client.search(wanted, MOST_HITS, gone.signal).then(
        ({ items }) =>
          setFound({
            of: wanted,
            hits: items.map(
              ({ plural, apiVersion, kind, namespace = '', name, displayName, owner }) => ({
                id: `${apiVersion}/${plural}/${namespace}/${name}`,
                icon: 'objects',
                kind,
                name,
                note: [namespace, displayName, owner].filter(Boolean).join(' · '),
                href: objectHref(named({ apiVersion, plural }), { namespace, name }),
              }),
            ),
          }),
        (error: Error) => {
          if (!gone.signal.aborted) setFound({ of: wanted, hits: [], problem: error.message });
        },
      );
    }, PAUSE_MS);
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [wanted]);
  if (wanted === '') return { hits: remembered(), problem: undefined, isLoading: false };
  return { hits: found.hits, problem: found.problem, isLoading: found.of !== wanted };
}

function remembered(): readonly Hit[] {
  const hit =
    (icon: IconName) =>
    ({ slug, kind, namespace, name }: Remembered): Hit => ({
      id: `${slug}/${namespace}/${name}`,
      icon,
      kind,
      name,
      note: namespace,
      href: objectHref(resourceOf(slug), { namespace, name }),
    });
  const first = favourites.value.map(hit('star'));
  const known = new Set(first.map(({ id }) => id));
  return [...first, ...recents.value.map(hit('clock')).filter(({ id }) => !known.has(id))];
}

function resourceOf(slug: string): { readonly group: string; readonly name: string } {
  const [name = '', ...group] = slug.split('.');
  const given = group.join('.');
  return { name, group: given === '' ? session.group : given === 'core' ? '' : given };
}
