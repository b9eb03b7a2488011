/** Recent and favourite objects, the form of the editor, and light or dark: stored in the browser. */
import { signal } from '@preact/signals';
import { isNarrow } from './media.ts';

export interface Remembered {
  /** Plural with group, as in URLs. */
  readonly slug: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

const MOST_RECENT = 12;

export const recents = signal(read<Remembered[]>('recents', []));
export const favourites = signal(read<Remembered[]>('favourites', []));

const isSame = (a: Remembered) => (b: Remembered) =>
  a.slug === b.slug && a.namespace === b.namespace && a.name === b.name;

export function visited(object: Remembered): void {
  const others = recents.peek().filter((one) => !isSame(object)(one));
  recents.value = [object, ...others].slice(0, MOST_RECENT);
  write('recents', recents.value);
}

export function isFavourite(object: Remembered): boolean {
  return favourites.value.some(isSame(object));
}

export function toggleFavourite(object: Remembered): void {
  const others = favourites.peek().filter((one) => !isSame(object)(one));
  const isKnown = others.length < favourites.peek().length;
  favourites.value = isKnown ? others : [object, ...others];
  write('favourites', favourites.value);
}

type EditView = 'form' | 'both' | 'yaml';

/** A phone has no place for both. */
export const editView = signal(read<EditView>('edit-view', isNarrow.peek() ? 'form' : 'both'));

export function setEditView(view: EditView): void {
  editView.value = view;
  write('edit-view', view);
}

export type ColorScheme = 'system' | 'light' | 'dark';

export const colorScheme = signal(read<ColorScheme>('color-scheme', 'system'));

export function setColorScheme(scheme: ColorScheme): void {
  colorScheme.value = scheme;
  write('color-scheme', scheme);
  applyColorScheme();
}

export function applyColorScheme(): void {
  const scheme = colorScheme.peek();
  document.documentElement.style.colorScheme = scheme === 'system' ? '' : scheme;
}

/** Storage may be disabled, full or of a former version: the console works without it. */
function read<T>(name: string, fallback: T): T {
  try {
    const value = JSON.parse(localStorage.getItem(`gitplane.${name}`) ?? 'null') as T | null;
    return value === null || Array.isArray(value) !== Array.isArray(fallback) ? fallback : value;
  } catch {
    return fallback;
  }
}

function write(name: string, value: unknown): void {
  try {
    localStorage.setItem(`gitplane.${name}`, JSON.stringify(value));
  } catch {
    // The wish holds until the page is closed.
  }
}
