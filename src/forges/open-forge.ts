/** Opens the client of a forge. */
import type { Forge } from './forge.ts';
import { Gitea } from './gitea.ts';
import { type ForgeParts, GitHub } from './github.ts';
import { GitLab } from './gitlab.ts';

export function openForge(parts: ForgeParts): Forge {
  const { type } = parts.target;
  if (type === 'github') return new GitHub(parts);
  return type === 'gitlab' ? new GitLab(parts) : new Gitea(parts);
}
