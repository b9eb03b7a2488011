/** Messages between the main thread and the thread that merges files. */
import type { FileTexts, ObjectMerge } from './object-merge.ts';

/** Start parameters of the thread. */
export interface MergeSetup {
  readonly apiGroup: string;
  /** Folder with the manifests; '' is the whole tree. */
  readonly under: string;
}

/** `texts`: versions of manifests by path, or of one other file. */
export type MergeRequest =
  | { readonly merge: 'objects'; readonly texts: ReadonlyMap<string, FileTexts> }
  | { readonly merge: 'lines'; readonly texts: TextVersions };

export type TextVersions = Readonly<Record<keyof FileTexts, string>>;

export interface LineMerge {
  /** Undefined: both sides changed the same lines. */
  readonly text: string | undefined;
}

export type MergeAnswer = ObjectMerge | LineMerge;
