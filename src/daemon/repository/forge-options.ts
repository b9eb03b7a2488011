/** Parses and validates the options of `gitplane serve` about the forge of the followed repository. */
import {
  FORGE_TYPES,
  type ForgeAccess,
  type ForgeTarget,
  forgeTarget,
} from '../../forges/index.ts';
import { type ParsedOptions, readChoice, readPath, UsageError } from '../../options/index.ts';

export interface ForgeOptions {
  readonly target: ForgeTarget;
  readonly access: ForgeAccess;
  /** Name of commit statuses and comments. */
  readonly context: string;
  /** Pull requests that get a plan: none, those from branches of the repository, or all. */
  readonly plans: (typeof PLANS)[number];
}

const PLANS = ['off', 'branches', 'forks'] as const;
const WITH_TOKEN = ['forge', 'forge-url'];
const CONTEXT = /^[A-Za-z0-9][\w./: -]{0,59}$/;

/** Undefined: no token for a forge is given. Throws UsageError. */
export function readForge(options: ParsedOptions, branch: string): ForgeOptions | undefined {
  const token = options.text('forge-token');
  const tokenFile = readPath(options, 'forge-token-file');
  const repository = options.text('repo') ?? '';
  if (!token && tokenFile === undefined) {
    const alone = WITH_TOKEN.find((name) => options.text(name) !== undefined);
    if (alone === undefined) return undefined;
    throw new UsageError(`--${alone} needs a token: give --forge-token-file too`);
  }
  if (repository === '') {
    throw new UsageError('--forge-token is for a repository that is followed: give --repo too');
  }
  const given = options.text('forge');
  const type = FORGE_TYPES.find((one) => one === given);
  if (given !== undefined && type === undefined) {
    throw new UsageError(`Cannot use --forge ${given}: use ${FORGE_TYPES.join(', ')}`);
  }
  const target = forgeTarget({ repository, branch, type, api: readApi(options) });
  if (target === undefined) {
    throw new UsageError(
      type === undefined
        ? 'The host of --repo does not tell its forge: give --forge github, gitlab or gitea'
        : '--repo names no repository of a forge: write https://HOST/OWNER/NAME.git',
    );
  }
  const context = options.required('forge-context');
  if (!CONTEXT.test(context)) {
    throw new UsageError(`Cannot use --forge-context ${JSON.stringify(context)}`);
  }
  const access = { token, tokenFile, caFile: readPath(options, 'repo-ca') };
  return { target, access, context, plans: readChoice(options, 'forge-plans', PLANS) };
}

function readApi(options: ParsedOptions): string | undefined {
  const text = options.text('forge-url');
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.search === '' && url.hash === '' && url.username === '';
  if (isPlain && /^https?:$/.test(url.protocol)) return text;
  throw new UsageError(`Cannot use --forge-url "${text}": write https://HOST[:PORT][/PATH]`);
}
