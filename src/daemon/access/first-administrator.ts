/** Access key of the first administrator: made at the first start, found at later ones. */
import { StatusError } from '../../apimachinery/index.ts';
import { administratorToken, OtherAdministratorError } from '../../bootstrap/index.ts';
import { RemoteError } from '../../git/index.ts';
import { concealAccessKey } from '../../kinds/index.ts';
import type { Platform } from '../platform.ts';
import type { PlatformContext } from '../platform-context.ts';

/**
 * Makes the first administrator, or finds its token. A remote repository may refuse the commit, and a
 * held branch takes none: the access keys in it work anyway, and the next start tries again.
 */
export async function firstAdministrator(
  parts: PlatformContext & { readonly platform: Platform },
): Promise<string | undefined> {
  const { data, logger, platform } = parts;
  try {
    const isShared = platform.following !== undefined;
    const token = await administratorToken({ ...platform, isShared }, data.adminToken);
    if (platform.pending === undefined && !isAccessKey(platform, token)) {
      const remedy = 'remove it and start again to have a new key made, or put the right one there';
      logger.warn(
        { file: data.adminToken, remedy },
        'No access key of the repository has this text',
      );
    }
    return token;
  } catch (error) {
    if (error instanceof OtherAdministratorError) {
      logger.warn({ problem: error.message, remedy: error.remedy }, 'No administrator key here');
      return undefined;
    }
    const isElsewhere = platform.pending !== undefined || platform.branch.hold !== undefined;
    const isRefused = error instanceof StatusError && isElsewhere;
    if (!(error instanceof RemoteError) && !isRefused) throw error;
    logger.warn({ problem: error.message }, 'The first administrator could not be created');
    return undefined;
  }
}

function isAccessKey({ access }: Platform, token: string): boolean {
  return access.holderOf(concealAccessKey(token)) !== undefined;
}
