/**
 * A remote that several processes push to, one after the other: whoever pushes now has moved a ref
 * of its own there, and each push moves both or none. So the remote itself refuses what an earlier
 * one still sends, although the branch has not moved. A remote that cannot do that goes without.
 */
import { randomBytes } from 'node:crypto';
import { type GitLogger, silent } from '../logger.ts';
import { runGit } from '../process/git-process.ts';
import { Remote, type RemoteOptions, type RemotePush, type RemotePushResult } from './remote.ts';
import { RemoteError } from './remote-error.ts';

export interface FencedRemoteOptions extends RemoteOptions {
  /** What its own commit says, for people who look at the ref. */
  readonly name: string;
  readonly logger?: GitLogger;
}

/** At the remote. Between claims it is at the last commit that was pushed. */
export const TERM_REF = 'refs/gitplane/term';
const MOST_RACES = 5;
const WHO = ['gitplane', 'gitplane@noreply.gitplane.dev'] as const;

export class FencedRemote extends Remote {
  readonly #options: FencedRemoteOptions;
  /** Where the ref is by our doing; undefined: it is not ours yet. */
  #mine: string | undefined;
  /** Where it may be, too: of a push whose end was not told. */
  #perhaps: string | undefined;
  #isWithout = false;
  #claiming: Promise<void> | undefined;

  constructor(options: FencedRemoteOptions) {
    super(options);
    this.#options = options;
  }

  /**
   * From then on pushes of earlier ones are refused. What cannot be claimed now is before the first
   * push. Throws RemoteError.
   */
  claim(): Promise<void> {
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined;
    });
    return this.#claiming;
  }

  async #claim(): Promise<void> {
    for (let races = 0; races < MOST_RACES && !this.#isWithout; races++) {
      const expected = await this.tipOf(TERM_REF);
      const to = await this.#marker();
      const own = { ref: TERM_REF, expected, to };
      const { results, isAtomic } = await this.move([own], { atomic: true });
      const [result] = results;
      if (!isAtomic) return this.#goWithout('it does not support atomic pushes');
      if (result?.ended === 'refused') return this.#goWithout(result.error.words);
      const isOurs = result?.ended === 'accepted' || (await this.tipOf(TERM_REF)) === to;
      if (!isOurs) continue;
      this.#mine = to;
      this.#perhaps = undefined;
      return;
    }
    if (!this.#isWithout) throw new RemoteError('unreachable', `${TERM_REF} cannot be moved there`);
  }

  override async push(push: RemotePush): Promise<RemotePushResult> {
    const expected = await this.#place();
    if (expected === undefined) return await super.push(push);
    this.#perhaps = push.tip;
    const own = { ref: TERM_REF, expected, to: push.tip };
    const branch = { ref: this.ref, expected: push.expected, to: push.tip };
    const { objects, signal } = push;
    const how = { objects, signal, atomic: true };
    const { results, isAtomic } = await this.move([branch, own], how);
    if (!isAtomic) this.#goWithout('it does not support atomic pushes any more');
    const [result = { ended: 'untold' }, ofOwn] = results;
    if (result.ended === 'accepted') {
      this.#mine = push.tip;
      this.#perhaps = undefined;
    }
    // It took the ref when it was claimed, and does not take this; the branch may go alone.
    if (result.ended === 'moved' && ofOwn?.ended === 'refused') {
      this.#goWithout(ofOwn.error.words);
    }
    return result;
  }

  /** Where our ref is. Undefined: this remote has none. */
  async #place(): Promise<string | undefined> {
    if (this.#isWithout) return undefined;
    if (this.#mine !== undefined && this.#perhaps !== undefined) {
      const found = await this.tipOf(TERM_REF);
      this.#mine = found === this.#perhaps || found === this.#mine ? found : undefined;
      this.#perhaps = undefined;
    }
    // Somebody took it: whoever may still act takes it back, and nobody else gets that far.
    if (this.#mine === undefined) await this.claim();
    return this.#mine;
  }

  #goWithout(problem: string): void {
    const { logger = silent } = this.#options;
    this.#isWithout = true;
    const text = `The remote does not take ${TERM_REF} together with the branch: nothing but the branch itself keeps an earlier leader from pushing`;
    logger.warn({ url: this.url, problem }, text);
  }

  async #marker(): Promise<string> {
    const { gitDir, name } = this.#options;
    const [author, email] = WHO;
    const env = {
      GIT_AUTHOR_NAME: author,
      GIT_AUTHOR_EMAIL: email,
      GIT_COMMITTER_NAME: author,
      GIT_COMMITTER_EMAIL: email,
    };
    const context = { gitDir, env };
    const tree = await runGit(context, ['hash-object', '-w', '-t', 'tree', '/dev/null']);
    // No two are alike, also of an etcd that counts anew.
    const text = `${name}\n\n${randomBytes(8).toString('hex')}`;
    const id = await runGit(context, ['commit-tree', tree.toString().trim(), '-m', text]);
    return id.toString().trim();
  }
}
