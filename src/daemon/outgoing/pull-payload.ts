/** The comment and the annotations of a pull request in the payloads of deliveries. */
import { isRecord } from '../../apimachinery/index.ts';
import type { Annotation, Pull } from '../../forges/index.ts';

export interface PullComment {
  readonly pull: Pick<Pull, 'number'>;
  readonly marker: string;
  readonly body: string;
}

/** Undefined: another version wrote it in another form. */
export function readComment(value: unknown): PullComment | undefined {
  if (!isRecord(value)) return undefined;
  const { number, marker, body } = value;
  if (typeof number !== 'number' || typeof marker !== 'string' || typeof body !== 'string') {
    return undefined;
  }
  return { pull: { number }, marker, body };
}

export interface PullAnnotations {
  readonly pull: Pick<Pull, 'number' | 'commit'>;
  readonly annotations: readonly Annotation[];
}

/** Undefined: another version wrote it in another form. */
export function readAnnotations(value: unknown): PullAnnotations | undefined {
  if (!isRecord(value) || !Array.isArray(value['lines'])) return undefined;
  const { number, commit, lines } = value;
  if (typeof number !== 'number' || typeof commit !== 'string') return undefined;
  return { pull: { number, commit }, annotations: lines.flatMap(readAnnotation) };
}

function readAnnotation(value: unknown): readonly Annotation[] {
  if (!isRecord(value)) return [];
  const { path, line, message, isError } = value;
  if (typeof path !== 'string' || typeof line !== 'number') return [];
  if (typeof message !== 'string' || typeof isError !== 'boolean') return [];
  return [{ path, line, message, isError }];
}
