/** Applies one commit: the contents at its parent become those at the commit. */
import { KeyMap, runAtOnce } from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';
import { affectedObjects } from './affected-objects.ts';
import { CatalogObject } from './catalog-object.ts';
import { Contents } from './contents.ts';
import { isValid } from './file.ts';
import { newborn, Resolution } from './last-good-version.ts';
import { OwnerBindings } from './owner-bindings.ts';
import type { ObjectChange, Step } from './step.ts';
import type { ChangeLog } from './undo-log.ts';

interface Folding {
  readonly rootCommit: string;
  readonly contents: Contents;
  /** Absent: the step is never undone, and its changes are not needed. */
  readonly undo?: ChangeLog;
}

/** Changes the contents. Yields between parts, so that the caller can yield to the event loop. */
export function* applyCommit(
  { rootCommit, contents, undo }: Folding,
  step: Step,
): Generator<void, ObjectChange[]> {
  const { objects } = contents;
  const seen: Omit<ObjectChange, 'after'>[] = [];
  const bindings = new OwnerBindings(contents, step, undo);
  const touched = yield* affectedObjects(contents, step, undo);
  const resolution = new Resolution(rootCommit, contents, step);
  for (const affected of touched.values()) {
    yield;
    const { key } = affected;
    const claims = affected.claims();
    const before = objects.get(key);
    const after = resolution.after({ key, before, claims });
    undo?.map(objects, key);
    if (after === undefined) objects.delete(key);
    else if (after !== before) objects.set(key, after);
    contents.setClaims(key, claims, undo);
    bindings.add(key, before);
    if (undo !== undefined) seen.push({ key, before });
  }
  const others = yield* bindings.settle();
  if (undo === undefined) return [];
  return seen
    .map(({ key, before }) => ({ key, before, after: objects.get(key) }))
    .filter(({ before, after }) => before !== after)
    .concat(others);
}

const NONE: readonly Problem[] = [];

/**
 * The same for a first commit, in which every object is new and normally no key conflicts.
 * Undefined if one does.
 */
export function firstContents(
  rootCommit: string,
  { commit, files, otherParents }: Step,
): Contents | undefined {
  if (otherParents !== undefined) return undefined;
  const objects = new KeyMap<CatalogObject>();
  for (const [path, entry] of files) {
    for (const document of entry?.documents ?? []) {
      const { key, index } = document;
      if (key === undefined) continue;
      if (!isValid(document) || objects.has(key)) return undefined;
      const identity = newborn(rootCommit, key, commit);
      const place = { path, index };
      objects.set(
        key,
        new CatalogObject({ key, place, identity, source: document, problems: NONE }),
      );
    }
  }
  const contents = Contents.of(objects);
  const bindings = new OwnerBindings(contents, { commit, files }, undefined);
  for (const [key] of objects.entries()) bindings.add(key, undefined);
  runAtOnce(bindings.settle());
  for (const [path, entry] of files) if (entry !== undefined) contents.setFile(path, entry);
  return contents;
}
