/** A word about what a person just did, which the top bar shows for some seconds. */
import { signal } from '@preact/signals';

const SHOWN_MS = 6000;

export const announcement = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

export function announce(text: string): void {
  announcement.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    announcement.value = '';
  }, SHOWN_MS);
}
