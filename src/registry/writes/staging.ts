/**
 * One write, staged in memory: decided, spliced into its file, added to a commit batch, applied to
 * the catalog. Nothing of it is on disk or visible, and all of it can be undone.
 */
import type { Clock } from '../../apimachinery/index.ts';
import type { FileReader } from '../../catalog/index.ts';
import { type CommitBatch, PathError, type Repository } from '../../git/index.ts';
import type { Store } from '../../state/index.ts';
import type { DesiredState, StagedWrite } from '../desired-state.ts';
import { refuseWhileHeld } from '../pushes/prune-approvals.ts';
import { COMMITTER } from './commit-message.ts';
import { editFile } from './file-edits.ts';
import type { TextsByBlob } from './file-texts.ts';
import { refuseAnotherSource } from './followed-source.ts';
import { conflictWithRepository } from './repository-conflict.ts';
import type { Sealer } from './sealer.ts';
import type { InFlight, Prepared, Write } from './write.ts';

export interface Staged extends StagedWrite {
  readonly write: Write;
  readonly commit?: string;
  readonly undo?: () => void;
  /** The write exists only in the state, which must be durable before the answer. */
  readonly inState?: boolean;
}

export interface StagingOptions {
  readonly state: DesiredState;
  readonly repository: Repository;
  readonly store: Store;
  readonly reader: FileReader;
  readonly clock: Clock;
  /** Absent: secrets are written in plaintext. */
  readonly sealer?: Sealer | undefined;
}

/** Throws StatusError and changes nothing if the write is refused. */
export async function stage(
  options: StagingOptions & {
    readonly texts: TextsByBlob;
    readonly inFlight: InFlight;
  },
  batch: CommitBatch,
  write: Write,
): Promise<Staged> {
  // Refuses early if the state store could not show the write.
  const { trouble } = options.store;
  if (trouble !== undefined) throw trouble;
  const prepared = write.prepare(options.inFlight);
  if (prepared.do === 'nothing') return { write, changes: [], state: [], paths: [] };
  const inState = keepsInState(prepared);
  // Refuses while the state cannot be written. An object that leaves git must be durable in the
  // state first.
  if (inState) await options.store.flush();
  if (prepared.do === 'state') {
    return { write, changes: [], state: prepared.changes, paths: [], inState };
  }
  const { clock, state } = options;
  refuseWhileHeld(state.approvals.hold);
  const { catalog, view } = state;
  const readFolder = batch.readFolder.bind(batch);
  const context = { ...options, catalog, view, readFolder };
  const edited = await editFile(context, prepared.edit);
  // Checked only here: a text that was read from an old commit is a conflict, although its person changed nothing.
  const isSameText =
    prepared.edit.text !== undefined && edited.entry?.blob === catalog.file(edited.path)?.blob;
  if (isSameText) return { write, changes: [], state: [], paths: [] };
  refuseAnotherSource({ catalog, store: options.store }, write.key, edited.entry);
  const committerTime = Math.floor(clock.now() / 1000);
  const commit = {
    changes: [{ path: edited.path, content: edited.content }],
    author: prepared.author,
    committer: COMMITTER,
    time: committerTime,
    message:
      edited.dropped === undefined
        ? prepared.message
        : withParagraph(
            prepared.message,
            `Dropped the manifest in git, which was not valid:\n${edited.dropped}`,
          ),
  };
  const { id } = await batch.add(commit).catch((error: unknown) => {
    // Another part of the repository blocks the file.
    throw error instanceof PathError ? conflictWithRepository(write.key, error.message) : error;
  });
  const { changes, undo } = state.stage({ id, committerTime }, edited);
  const paths = [edited.path];
  const { deletion, fields } = prepared;
  return { write, commit: id, changes, undo, state: [], paths, deletion, fields, inState };
}

function keepsInState(prepared: Prepared): boolean {
  if (prepared.do === 'state') return prepared.durable === true;
  return prepared.do === 'commit' && prepared.deletion !== undefined;
}

/** Inserts a paragraph after the subject; trailers stay last. */
function withParagraph(message: string, paragraph: string): string {
  const [subject = '', ...rest] = message.split('\n\n');
  return [subject, paragraph, ...rest].join('\n\n');
}
