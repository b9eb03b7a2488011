/** Limit of what the commits of one push change: each commit is judged, and two blobs are enough for any number. */
import { StatusError } from '../../apimachinery/index.ts';
import { type FoldedStep, unplacedDocuments } from '../../catalog/index.ts';

/** Limit for changed manifests, of all commits together. */
const MAX_CHANGED = 250_000;

export class ChangedManifests {
  #count = 0;

  /** Throws 413 beyond the limit. */
  add({ changes, files, compared }: Pick<FoldedStep, 'changes' | 'files' | 'compared'>): void {
    let documents = 0;
    // A file without documents is read and compared as well: an ignore file may add and remove thousands.
    for (const file of files.values()) {
      documents += Math.max(1, file ? unplacedDocuments(file).length : 0);
    }
    this.#count += Math.max(documents, changes.length) + compared;
    if (this.#count > MAX_CHANGED) throw new StatusError(413, 'RequestEntityTooLarge', TOO_MANY);
  }
}

const TOO_MANY = `The commits of this push change manifests more than ${MAX_CHANGED} times together; push the older ones first (git push <remote> <commit>:refs/heads/<branch>); nothing was changed`;
