/** The API of Gitea and Forgejo, as far as it differs from that of GitHub. */
import { countOf, cut, textAt } from './answers.ts';
import type { Annotation, PullTip } from './forge.ts';
import { type ForgeParts, GithubStyleForge } from './github.ts';
import { codeBlock } from './markdown.ts';

const MOST_COMMENTS = 50;
const MARKER = '<!-- gitplane annotations -->';

export class Gitea extends GithubStyleForge {
  readonly name = 'Gitea';
  protected readonly updatedFirst = 'recentupdate';

  constructor(parts: ForgeParts) {
    super(parts, { name: 'Gitea', mostDescription: 255 });
  }

  /** A review with a comment at each line. */
  async annotate({ number, commit }: PullTip, annotations: readonly Annotation[]): Promise<void> {
    if (annotations.length === 0) return;
    const path = `${this.home}/pulls/${number}/reviews`;
    for (const review of await this.api.list(path)) {
      const isOfTip = textAt(review, 'commit_id') === commit;
      if (isOfTip && (await this.account.wrote(review, MARKER))) return;
    }
    const body = {
      event: 'COMMENT',
      commit_id: commit,
      body: `${MARKER}\n${countOf(annotations)}, each at its line`,
      comments: annotations.slice(0, MOST_COMMENTS).map((one) => ({
        path: one.path,
        body: codeBlock([cut(one.message, 1000)]),
        new_position: one.line,
      })),
    };
    await this.api.call({ method: 'POST', path, body });
  }
}
