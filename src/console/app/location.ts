/** The address of the page: path and query, as signals; links without a reload. */
import { computed, signal } from '@preact/signals';
import type { Moment } from '../api/objects.ts';

export const BASE = '/console';

const current = signal(new URL(location.href));

const parts = computed(() =>
  current.value.pathname
    .slice(BASE.length)
    .split('/')
    .filter((part) => part !== ''),
);

/** Path and query. */
export const address = computed(() => current.value.pathname + current.value.search);

/** Path below `/console`, decoded, as segments. */
export const segments = computed(() => parts.value.map((part) => decoded(part) ?? part));

/** Problem of an address that no page can have; undefined: there is none. */
export const addressProblem = computed(() => {
  const broken = parts.value.find((part) => decoded(part) === undefined);
  if (broken !== undefined) return `${broken} is not valid percent encoding`;
  if (isMoment(at.value)) return undefined;
  return `at=${shortened(at.value)} is neither a commit nor a time such as 2026-01-31T09:30:00Z`;
});

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

const LONGEST_SHOWN = 80;

function shortened(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

export const query = computed(() => current.value.searchParams);

/**
 * The moment that the pages show, from the query: a commit or a time. Empty: the present. It goes on from
 * page to page, since `href` keeps it.
 */
export const at = computed(() => query.value.get('at') ?? '');

const REVISION = /^[0-9a-f]{4,40}$/;

export function momentOf(text: string): Moment {
  if (text === '') return {};
  return REVISION.test(text) ? { atRevision: text } : { atTime: text };
}

function isMoment(text: string): boolean {
  return text === '' || REVISION.test(text) || !Number.isNaN(Date.parse(text));
}

/** Address of a page of the console; absent values are left out of the query, and a moment that cannot be read. */
export function href(
  path: readonly string[],
  search: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries({ at: isMoment(at.value) ? at.value : '', ...search }).flatMap(
    ([name, value]) => (value === undefined || value === '' ? [] : [[name, value]]),
  );
  const text = new URLSearchParams(given).toString();
  const tail = path.map((part) => `/${encodeURIComponent(part)}`).join('');
  return `${BASE}${tail}${text === '' ? '' : `?${text}`}`;
}

export function go(target: string, { replace = false } = {}): void {
  if (replace) history.replaceState(undefined, '', target);
  else history.pushState(undefined, '', target);
  const before = current.peek().pathname;
  current.value = new URL(location.href);
  if (current.peek().pathname === before) return;
  window.scrollTo(0, 0);
  // Screen readers read the new page from its start.
  document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true });
}

/** Changes values of the query; undefined removes one. The entry of the browser history is replaced. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  go(url.pathname + url.search, { replace: true });
}

export function startNavigation(): void {
  addEventListener('popstate', () => {
    current.value = new URL(location.href);
  });
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest?.('a');
    if (link === null || link === undefined) return;
    const isPlain =
      event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    const isOurs =
      link.origin === location.origin &&
      (link.pathname === BASE || link.pathname.startsWith(`${BASE}/`)) &&
      link.target === '' &&
      !link.hasAttribute('download');
    if (!isPlain || !isOurs || event.defaultPrevented) return;
    // A jump within the page belongs to the browser.
    if (link.hash !== '' && link.pathname === location.pathname) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
