/**
 * A remote that several processes push to, one leader at a time. The current leader has moved a ref of
 * its own there (the term ref), and each push moves both the branch and that ref, or none. So the
 * remote itself refuses late pushes of a former leader, even if the branch has not moved. With a remote
 * that does not support this, pushes are not fenced.
 */

import { randomBytes } from 'node:crypto';
import { type GitLogger, silent } from '../logger.ts';
import { identityEnvironment } from '../process/git-environment.ts';
import { runGit } from '../process/git-process.ts';
import { Remote, type RemoteOptions, type RemotePush, type RemotePushResult } from './remote.ts';
import { RemoteError } from './remote-error.ts';

export interface FencedRemoteOptions extends RemoteOptions {
  /** Text of the commit that the term ref points to, for people who read the ref. */
  readonly name: string;
  readonly logger?: GitLogger;
}

/** Ref at the remote. Between terms it points to the last pushed commit. */
export const TERM_REF = 'refs/gitplane/term';
const MAX_RACES = 5;
const AUTHOR = { name: 'gitplane', email: 'gitplane@noreply.gitplane.dev' };

export class FencedRemote extends Remote {
  readonly #options: FencedRemoteOptions;
  /** Value of the term ref that this process set; undefined: it has not taken the term. */
  #current: string | undefined;
  /** Another possible value, after a push with unknown outcome. */
  #possible: string | undefined;
  #isUnfenced = false;
  #starting: Promise<void> | undefined;

  constructor(options: FencedRemoteOptions) {
    super(options);
    this.#options = options;
  }

  /**
   * Takes the term: from then on the remote refuses pushes of former leaders. A term that cannot be
   * taken now is taken before the first push. Throws RemoteError.
   */
  startTerm(): Promise<void> {
    this.#starting ??= this.#takeTerm().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #takeTerm(): Promise<void> {
    for (let races = 0; races < MAX_RACES && !this.#isUnfenced; races++) {
      const expected = await this.tipOf(TERM_REF);
      const to = await this.#marker();
      const term = { ref: TERM_REF, expected, to };
      const { results, isAtomic } = await this.move([term], { atomic: true });
      const [result] = results;
      if (!isAtomic) return this.#stopFencing('it does not support atomic pushes');
      if (result?.ended === 'refused') return this.#stopFencing(result.error.detail);
      const isOurs = result?.ended === 'accepted' || (await this.tipOf(TERM_REF)) === to;
      if (!isOurs) continue;
      this.#current = to;
      this.#possible = undefined;
      return;
    }
    if (!this.#isUnfenced)
      throw new RemoteError('unreachable', `${TERM_REF} cannot be moved there`);
  }

  override async push(push: RemotePush): Promise<RemotePushResult> {
    const expected = await this.#currentTerm();
    if (expected === undefined) return await super.push(push);
    this.#possible = push.tip;
    const term = { ref: TERM_REF, expected, to: push.tip };
    const branch = { ref: this.ref, expected: push.expected, to: push.tip };
    const { objects, signal } = push;
    const options = { objects, signal, atomic: true };
    const { results, isAtomic } = await this.move([branch, term], options);
    if (!isAtomic) this.#stopFencing('it does not support atomic pushes any more');
    const [result = { ended: 'unknown' }, termResult] = results;
    if (result.ended === 'accepted') {
      this.#current = push.tip;
      this.#possible = undefined;
    }
    // The remote accepted the term ref before and refuses it now: push the branch alone.
    if (result.ended === 'moved' && termResult?.ended === 'refused') {
      this.#stopFencing(termResult.error.detail);
    }
    return result;
  }

  /** Current value of the term ref of this process. Undefined: this remote has none. */
  async #currentTerm(): Promise<string | undefined> {
    if (this.#isUnfenced) return undefined;
    if (this.#current !== undefined && this.#possible !== undefined) {
      const found = await this.tipOf(TERM_REF);
      this.#current = found === this.#possible || found === this.#current ? found : undefined;
      this.#possible = undefined;
    }
    // Another process took the term. A process that may still act takes it back; others fail before.
    if (this.#current === undefined) await this.startTerm();
    return this.#current;
  }

  #stopFencing(problem: string): void {
    const { logger = silent } = this.#options;
    this.#isUnfenced = true;
    const text = `The remote does not accept ${TERM_REF} together with the branch: late pushes of a former leader are refused only if the branch has moved`;
    logger.warn({ url: this.url, problem }, text);
  }

  async #marker(): Promise<string> {
    const { gitDir, name } = this.#options;
    const context = { gitDir, env: identityEnvironment(AUTHOR) };
    const tree = await runGit(context, ['hash-object', '-w', '-t', 'tree', '/dev/null']);
    // The random part makes each commit unique, even if an etcd restarts its revisions.
    const text = `${name}\n\n${randomBytes(8).toString('hex')}`;
    const id = await runGit(context, ['commit-tree', tree.toString().trim(), '-m', text]);
    return id.toString().trim();
  }
}
