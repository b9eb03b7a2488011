/** The API of GitHub, and what Gitea and Forgejo have in common with it. */
import { DeliveryError } from '../outbox/index.ts';
import { countOf, cut, numberAt, pageAt, requiredNumber, textAt } from './answers.ts';
import { ApiClient, type ApiClientOptions } from './api-client.ts';
import { findComment, OwnAccount } from './comments.ts';
import type { Annotation, CommitStatus, Forge, ForgeTarget, Pull, PullTip } from './forge.ts';

export type ForgeParts = Pick<ApiClientOptions, 'access' | 'clock'> & {
  readonly target: ForgeTarget;
};

/** Paths and fields that GitHub, Gitea and Forgejo share. */
export abstract class GithubStyleForge implements Forge {
  abstract readonly name: string;
  protected readonly api: ApiClient;
  protected readonly account: OwnAccount;
  protected readonly target: ForgeTarget;
  /** `/repos/owner/name`. */
  protected readonly home: string;
  readonly #mostDescription: number;

  constructor(
    { target, ...parts }: ForgeParts,
    of: {
      readonly name: string;
      readonly mostDescription: number;
      readonly headers?: Readonly<Record<string, string>>;
    },
  ) {
    this.target = target;
    this.api = new ApiClient({ ...parts, ...of, api: target.api });
    this.account = new OwnAccount(this.api);
    this.home = `/repos/${target.project.split('/').map(encodeURIComponent).join('/')}`;
    this.#mostDescription = of.mostDescription;
  }

  async setStatus({ commit, context, state, description, url }: CommitStatus): Promise<void> {
    const text = cut(description, this.#mostDescription);
    const body = { state, context, description: text, ...(url && { target_url: url }) };
    await this.api.call({ method: 'POST', path: `${this.home}/statuses/${commit}`, body });
  }

  async openPulls(): Promise<readonly Pull[]> {
    const { branch } = this.target;
    const base = `base=${encodeURIComponent(branch)}`;
    const query = `state=open&sort=${this.updatedFirst}&direction=desc&${base}`;
    const found = await this.api.list(`${this.home}/pulls`, query);
    // Gitea before 1.23 ignores `base`.
    return found.filter((one) => textAt(one, 'base', 'ref') === branch).flatMap(pullOf);
  }

  async openPull(wanted: { head: string; title: string; body: string }): Promise<Pull> {
    const body = { ...wanted, base: this.target.branch };
    const answer = await this.api.call({ method: 'POST', path: `${this.home}/pulls`, body });
    const [pull] = pullOf(answer);
    if (pull !== undefined) return pull;
    throw new DeliveryError(`${this.name} answered no pull request`, { problem: 'unavailable' });
  }

  async comment(
    { number }: Pick<Pull, 'number'>,
    { marker, body }: { readonly marker: string; readonly body: string },
  ): Promise<void> {
    const { account, home } = this;
    const all = this.api.pages(`${home}/issues/${number}/comments`);
    const id = await findComment(all, { account, marker });
    const text = { body: `${marker}\n${body}` };
    await this.api.call(
      id === undefined
        ? { method: 'POST', path: `${home}/issues/${number}/comments`, body: text }
        : { method: 'PATCH', path: `${home}/issues/comments/${id}`, body: text },
    );
  }

  abstract annotate(pull: PullTip, annotations: readonly Annotation[]): Promise<void>;

  async close(): Promise<void> {
    await this.api.close();
  }

  protected abstract readonly updatedFirst: string;
}

function pullOf(answer: unknown): readonly Pull[] {
  const number = numberAt(answer, 'number');
  const head = textAt(answer, 'head', 'ref');
  const commit = textAt(answer, 'head', 'sha');
  if (number === undefined || head === '' || !/^[0-9a-f]{40}$/.test(commit)) return [];
  const [from, to] = ['head', 'base'].map((end) => numberAt(answer, end, 'repo', 'id'));
  const url = pageAt(answer, 'html_url');
  return [{ number, url, head, commit, isFork: from === undefined || from !== to }];
}

/** Annotations that one request takes. */
const PER_CHECK_RUN = 50;
const CHECK = 'gitplane annotations';

export class GitHub extends GithubStyleForge {
  readonly name = 'GitHub';
  protected readonly updatedFirst = 'updated';

  constructor(parts: ForgeParts) {
    super(parts, {
      name: 'GitHub',
      mostDescription: 140,
      headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
    });
  }

  /** A check run, which only the token of an app may make. The comment lists the problems too. */
  async annotate({ commit }: PullTip, annotations: readonly Annotation[]): Promise<void> {
    try {
      const query = `check_name=${encodeURIComponent(CHECK)}`;
      const found = await this.api.call({
        path: `${this.home}/commits/${commit}/check-runs?${query}`,
      });
      if (numberAt(found, 'total_count') !== 0 || annotations.length === 0) return;
      const shown = annotations.slice(0, PER_CHECK_RUN);
      const answer = await this.api.call({
        method: 'POST',
        path: `${this.home}/check-runs`,
        body: {
          name: CHECK,
          head_sha: commit,
          status: 'completed',
          conclusion: shown.some(({ isError }) => isError) ? 'failure' : 'neutral',
          output: {
            title: countOf(annotations),
            summary: 'Problems of manifests, each at its line.',
            annotations: shown.map(({ path, line, message, isError }) => ({
              path,
              start_line: line,
              end_line: line,
              annotation_level: isError ? 'failure' : 'warning',
              message: cut(message, 4000),
            })),
          },
        },
      });
      requiredNumber(answer, 'id');
    } catch (error) {
      if (error instanceof DeliveryError && / answered 403$/.test(error.message)) return;
      throw error;
    }
  }
}
