/** A path of a patch: steps from the root of an object, some of which may be wildcards. */

/** One step: a map key or list index as text, or every element. */
export type Segment = { readonly key: string } | { readonly wildcard: true };

/** No segments: the whole object. */
export type Path = readonly Segment[];

/** The place of a match: map keys are strings, list indexes are numbers. */
export type Place = readonly (string | number)[];

/** A syntax error of a path. `offset` counts UTF-16 units from its start, from 0. */
export class PathSyntaxError extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}
