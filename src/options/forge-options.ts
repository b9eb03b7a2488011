/** Options about the forge of a followed repository. */
import type { OptionSpec } from './option-spec.ts';

export const FORGE_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'forge-token',
    group: 'Forge',
    value: 'TOKEN',
    help: 'token for the API of the forge that has --repo; turns statuses, comments and pull requests on; prefer GITPLANE_FORGE_TOKEN or --forge-token-file',
  },
  {
    name: 'forge-token-file',
    group: 'Forge',
    value: 'FILE',
    help: 'file with the token; read at each use',
  },
  {
    name: 'forge',
    group: 'Forge',
    value: 'TYPE',
    choices: ['github', 'gitlab', 'gitea'],
    help: 'API of the forge (Forgejo: gitea); default: known for github.com, gitlab.com, codeberg.org and gitea.com',
  },
  {
    name: 'forge-url',
    group: 'Forge',
    value: 'URL',
    help: 'base URL of the API, as https://forge.example.com/api/v1; default: by the host of --repo',
  },
  {
    name: 'forge-context',
    group: 'Forge',
    value: 'NAME',
    default: 'gitplane',
    help: 'name of commit statuses and comments; give each daemon that follows the same repository its own',
  },
  {
    name: 'forge-plans',
    group: 'Forge',
    value: 'WHICH',
    default: 'branches',
    choices: ['off', 'branches', 'forks'],
    help: 'pull requests that get a plan as a comment: off, those from branches of the repository, or those from forks too',
  },
];
