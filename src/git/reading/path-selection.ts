/** Selects paths of a tree, here and in git: a commit of a few bytes can change a million files that no reader asks for. */
import type { PathSelection } from '../repository.ts';

export function isSelected({ under, endings, others }: PathSelection, path: string): boolean {
  if (others.includes(path)) return true;
  if (under !== '' && !path.startsWith(`${under}/`)) return false;
  return endings.some((ending) => path.endsWith(ending));
}

/** Arguments that make git list only these paths. They need `pathspecEnv`. */
export function pathspecs({ under, endings, others }: PathSelection): string[] {
  const folder = under === '' ? '' : `${under.replace(/[*?[\\]/g, '\\$&')}/`;
  return [
    '--',
    ...endings.map((ending) => `:(top)${folder}*${ending}`),
    ...others.map((path) => `:(top,literal)${path}`),
  ];
}

/** Patterns are off for every other process of git. */
export const pathspecEnv = { GIT_LITERAL_PATHSPECS: '0' } as const;
