/** Widths of the window that change more than the style. */
import { signal } from '@preact/signals';

const narrow = matchMedia('(max-width: 40rem)');
/** True on a phone. */
export const isNarrow = signal(narrow.matches);
narrow.addEventListener('change', () => {
  isNarrow.value = narrow.matches;
});
