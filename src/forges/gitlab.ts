/** The API of GitLab. */
import { DeliveryError } from '../outbox/index.ts';
import { cut, numberAt, pageAt, textAt } from './answers.ts';
import { ApiClient } from './api-client.ts';
import { findComment, OwnAccount } from './comments.ts';
import type { Annotation, CommitStatus, Forge, ForgeTarget, Pull, PullTip } from './forge.ts';
import type { ForgeParts } from './github.ts';
import { codeBlock } from './markdown.ts';

const STATES = {
  pending: 'pending',
  success: 'success',
  failure: 'failed',
  error: 'failed',
} as const;
const MOST_ANNOTATIONS = 20;
const ANNOTATION_MARKER = '<!-- gitplane annotation -->';

export class GitLab implements Forge {
  readonly name = 'GitLab';
  readonly #api: ApiClient;
  readonly #account: OwnAccount;
  readonly #target: ForgeTarget;
  readonly #home: string;

  constructor({ target, ...parts }: ForgeParts) {
    this.#target = target;
    this.#api = new ApiClient({ ...parts, name: this.name, api: target.api });
    this.#account = new OwnAccount(this.#api);
    this.#home = `/projects/${encodeURIComponent(target.project)}`;
  }

  async setStatus({ commit, context, state, description, url }: CommitStatus): Promise<void> {
    const path = `${this.#home}/statuses/${commit}`;
    const text = cut(description, 255);
    const body = {
      state: STATES[state],
      name: context,
      description: text,
      ...(url && { target_url: url }),
    };
    try {
      await this.#api.call({ method: 'POST', path, body });
    } catch (error) {
      // GitLab refuses to set a status to the state that it has.
      if (!isRefusal(error) || !(await this.#has({ commit, context, state }))) throw error;
    }
  }

  async openPulls(): Promise<readonly Pull[]> {
    const target = `target_branch=${encodeURIComponent(this.#target.branch)}`;
    const query = `state=opened&order_by=updated_at&${target}`;
    return (await this.#api.list(`${this.#home}/merge_requests`, query)).flatMap(pullOf);
  }

  async openPull({
    head,
    title,
    body,
  }: {
    head: string;
    title: string;
    body: string;
  }): Promise<Pull> {
    const answer = await this.#api.call({
      method: 'POST',
      path: `${this.#home}/merge_requests`,
      body: {
        source_branch: head,
        target_branch: this.#target.branch,
        title,
        description: body,
      },
    });
    const [pull] = pullOf(answer);
    if (pull !== undefined) return pull;
    throw new DeliveryError('GitLab answered no merge request', { problem: 'unavailable' });
  }

  async comment(
    { number }: Pick<Pull, 'number'>,
    { marker, body }: { readonly marker: string; readonly body: string },
  ): Promise<void> {
    const path = `${this.#home}/merge_requests/${number}/notes`;
    const id = await findComment(this.#notes(path), { account: this.#account, marker });
    const text = { body: `${marker}\n${body}` };
    await this.#api.call(
      id === undefined
        ? { method: 'POST', path, body: text }
        : { method: 'PUT', path: `${path}/${id}`, body: text },
    );
  }

  /** Discussions at lines of the difference. GitLab refuses those at other lines. */
  async annotate({ number, commit }: PullTip, annotations: readonly Annotation[]): Promise<void> {
    if (annotations.length === 0) return;
    const home = `${this.#home}/merge_requests/${number}`;
    const marker = `${ANNOTATION_MARKER}${commit}`;
    const notes = this.#notes(`${home}/notes`);
    if ((await findComment(notes, { account: this.#account, marker })) !== undefined) return;
    const request = await this.#api.call({ path: home });
    const [base_sha, start_sha, head_sha] = ['base_sha', 'start_sha', 'head_sha'].map((field) =>
      textAt(request, 'diff_refs', field),
    );
    if (head_sha === '')
      throw new DeliveryError('GitLab has no difference yet', { problem: 'refused' });
    if (head_sha !== commit) return;
    for (const { path, line, message } of annotations.slice(0, MOST_ANNOTATIONS)) {
      const position = { position_type: 'text', base_sha, start_sha, head_sha };
      const body = {
        body: `${marker}\n${codeBlock([cut(message, 1000)])}`,
        position: { ...position, old_path: path, new_path: path, new_line: line },
      };
      try {
        await this.#api.call({ method: 'POST', path: `${home}/discussions`, body });
      } catch (error) {
        if (!isRefusal(error)) throw error;
      }
    }
  }

  async close(): Promise<void> {
    await this.#api.close();
  }

  /** Oldest first. */
  #notes(path: string): AsyncGenerator<readonly unknown[]> {
    return this.#api.pages(path, { query: 'sort=asc&order_by=created_at' });
  }

  async #has({
    commit,
    context,
    state,
  }: Pick<CommitStatus, 'commit' | 'context' | 'state'>): Promise<boolean> {
    const path = `${this.#home}/repository/commits/${commit}/statuses`;
    const found = await this.#api.list(path, `name=${encodeURIComponent(context)}`);
    return found.some(
      (one) => textAt(one, 'name') === context && textAt(one, 'status') === STATES[state],
    );
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof DeliveryError && error.problem === 'refused';
}

function pullOf(answer: unknown): readonly Pull[] {
  const number = numberAt(answer, 'iid');
  const [head, commit] = ['source_branch', 'sha'].map((one) => textAt(answer, one));
  if (number === undefined || !head || !/^[0-9a-f]{40}$/.test(commit ?? '')) return [];
  const [from, to] = ['source_project_id', 'target_project_id'].map((one) => numberAt(answer, one));
  const isFork = from === undefined || from !== to;
  return [{ number, url: pageAt(answer, 'web_url'), head, commit: commit ?? '', isFork }];
}
