/** A place as text that expressions see in `context.path` and that reads back as a path. */
import type { Place } from './path.ts';

/** `spec.rules."test.object.other".0`: indexes are numbers, keys with special characters quoted. */
export function formatPlace(place: Place): string {
  return place.map(segmentText).join('.');
}

function segmentText(step: string | number): string {
  if (typeof step === 'number') return String(step);
  const special = /[.[\]"]|^'|^\*$|^\s|\s$/.test(step);
  if (!special) return step;
  // Paths have no escape: a key with both quotes can be shown, but not parsed again.
  const quote = step.includes('"') ? "'" : '"';
  return `${quote}${step}${quote}`;
}
