/**
 * The verdict on a push, before the ref moves: every problem with its place, every objection of
 * the rules that API writes pass too, and what would be pruned.
 */
import { describeKey } from '../apimachinery/key.ts';
import { jsonEqual } from '../apimachinery/object.ts';
import { type Authorizer, SUPERUSER_GROUP, type User } from '../apimachinery/request.ts';
import type { CatalogObject, ObjectChange } from '../catalog/catalog.ts';
import type { ObjectSource } from '../catalog/tree.ts';
import type { Repository } from '../git/repository.ts';
import type { Kind } from '../kinds/kind.ts';
import { formatProblem } from '../manifests/manifest.ts';
import type { Branch, PushedFiles } from './branch.ts';
import type { DesiredState } from './desired-state.ts';
import { guardObjections } from './guards.ts';
import { serveObject } from './served.ts';
import type { PlannedChange, WriteParts } from './write-context.ts';

/** One ref that a push wants to move; undefined stands for "does not exist". */
export interface PushedUpdate {
  readonly ref: string;
  readonly oldId: string | undefined;
  readonly newId: string | undefined;
}

export interface Push {
  readonly updates: readonly PushedUpdate[];
  /** Undefined: the operator, who pushes by path. */
  readonly user: User | undefined;
  /** Reads what is in quarantine too. */
  readonly source: ObjectSource & Pick<Repository, 'diff' | 'isAncestor'>;
}

export interface Verdict {
  readonly ok: boolean;
  /** What the pusher reads, a line each. */
  readonly lines: readonly string[];
}

export interface PushJudgeOptions extends WriteParts {
  readonly branch: Branch;
  readonly repository: Pick<Repository, 'ref' | 'head'>;
  readonly authorizer: Authorizer;
}

/** A pusher who can write to the repository's folder can change everything in it anyway. */
const OPERATOR: User = { name: 'operator', groups: [SUPERUSER_GROUP] };

const MOST_LINES = 200;
/** How long API writes wait for a push that was accepted to move the branch. */
const PATIENCE_MS = 300;
const POLL_MS = 2;

export class PushJudge {
  readonly #options: PushJudgeOptions;

  constructor(options: PushJudgeOptions) {
    this.#options = options;
  }

  /** Refs other than the branch are not ours to judge. Never rejects for what a push contains. */
  async judge(push: Push): Promise<Verdict> {
    const update = push.updates.find(({ ref }) => ref === this.#options.repository.ref);
    if (update === undefined) return { ok: true, lines: [] };
    const { oldId, newId } = update;
    if (newId === undefined)
      return refusal(['The platform lives on this branch; it cannot be deleted']);
    if (oldId !== undefined && !(await push.source.isAncestor(oldId, newId))) {
      return refusal([
        'This push would rewrite history that the platform was built from; rebase on the branch and push again',
      ]);
    }
    const changes = await push.source.diff(oldId, newId);
    const files = await this.#options.branch.readPushed(push.source, { revision: newId, changes });
    const pushed = { oldId, newId, files, user: push.user ?? OPERATOR };
    return await this.#inTurn(pushed);
  }

  /** Answers as soon as the verdict is known, and keeps the turn until the branch has moved. */
  #inTurn(pushed: PushedRevision): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      this.#options.branch
        .inTurn(async (state) => {
          if (state.revision !== pushed.oldId) await state.catchUp();
          const verdict = this.#verdict(state, pushed);
          resolve(verdict);
          if (verdict.ok) await this.#waitForMove(pushed.newId);
          await state.catchUp();
        })
        .catch(reject);
    });
  }

  async #waitForMove(newId: string): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (performance.now() < deadline) {
      if ((await this.#options.repository.head()) === newId) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  #verdict(state: DesiredState, pushed: PushedRevision): Verdict {
    if (state.revision !== pushed.oldId) {
      return refusal(['The branch moved meanwhile; fetch, rebase and push again']);
    }
    const time = this.#options.clock.now();
    const commit = { id: pushed.newId, committerTime: Math.floor(time / 1000) };
    const step = state.catalog.advance({ commit, files: pushed.files });
    const problems = state.catalog.problemsOf(pushed.files.keys());
    step.undo();
    const planned = step.changes.filter(isVisible);
    const objections = planned.flatMap((change) => this.#objections(change, pushed.user));
    const complaints = [...problems.map(formatProblem), ...objections];
    const pruned = planned.filter(({ after }) => after === undefined).map(describePrune);
    if (complaints.length > 0) {
      const count = `${complaints.length} problem${complaints.length === 1 ? '' : 's'}; nothing was changed`;
      return refusal([...capped(complaints), ...pruned, count]);
    }
    const warnings = [...pushed.files.values()].flatMap((file) =>
      (file?.documents ?? []).flatMap((document) => document.warnings),
    );
    const lines = warnings.map((warning) => `warning: ${formatProblem(warning)}`);
    return { ok: true, lines: [...capped(lines), ...capped(pruned), summary(planned)] };
  }

  #objections(change: ObjectChange, user: User): string[] {
    const place = (change.after ?? change.before)?.place.path ?? '';
    const kind = kindOf(this.#options, change);
    if (kind === undefined) return [];
    const stored = this.#options.store.get(change.key);
    if (stored?.object.metadata.deletionTimestamp !== undefined && change.before === undefined) {
      return [
        `${place}: ${describeKey(change.key)} is still being deleted; push again when it is gone`,
      ];
    }
    const planned = this.#planned(kind, change, user);
    const denied = this.#denied(kind, change, user);
    const objections =
      denied === undefined ? guardObjections(this.#options.guards, planned) : [denied];
    return objections.map((text) => `${place}: ${describeKey(change.key)}: ${text}`);
  }

  #planned(kind: Kind, change: ObjectChange, user: User): PlannedChange {
    const previous = this.#options.store.get(change.key);
    const object =
      change.after === undefined
        ? undefined
        : serveObject(kind, change.after, { previous, time: this.#options.clock.now() }).object;
    return { user, kind, object, old: previous?.object };
  }

  #denied(kind: Kind, change: ObjectChange, user: User): string | undefined {
    const verb = verbOf(change);
    const { namespace, name } = change.key;
    const resource = { verb, group: kind.group, resource: kind.plural, namespace, name };
    if (this.#options.authorizer.authorize(user, resource).allowed) return undefined;
    return `Forbidden: User ${JSON.stringify(user.name)} cannot ${verb} ${kind.plural}`;
  }
}

interface PushedRevision {
  readonly oldId: string | undefined;
  readonly newId: string;
  readonly files: PushedFiles;
  readonly user: User;
}

function refusal(lines: readonly string[]): Verdict {
  return { ok: false, lines };
}

/** Moves of a file are no change of the object. */
function isVisible({ before, after }: ObjectChange): boolean {
  return before === undefined || after === undefined || !jsonEqual(before.manifest, after.manifest);
}

function verbOf({ before, after }: ObjectChange): 'create' | 'update' | 'delete' {
  if (before === undefined) return 'create';
  return after === undefined ? 'delete' : 'update';
}

function kindOf(parts: WriteParts, { before, after }: ObjectChange): Kind | undefined {
  const manifest = (after ?? before)?.manifest;
  return manifest && parts.kinds.byKind(manifest.apiVersion, manifest.kind);
}

function describePrune({ key, before }: ObjectChange): string {
  return `removes ${describeKey(key)}${locate(before)}`;
}

function locate(object: CatalogObject | undefined): string {
  return object === undefined ? '' : ` (${object.place.path})`;
}

function summary(changes: readonly ObjectChange[]): string {
  const count = { create: 0, update: 0, delete: 0 };
  for (const change of changes) count[verbOf(change)]++;
  return `accepted: ${count.create} created, ${count.update} changed, ${count.delete} removed`;
}

function capped(lines: readonly string[]): string[] {
  if (lines.length <= MOST_LINES) return [...lines];
  return [...lines.slice(0, MOST_LINES), `… and ${lines.length - MOST_LINES} more`];
}
