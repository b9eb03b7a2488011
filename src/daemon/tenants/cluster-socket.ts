/**
 * Access of the daemon itself to the served clusters: a unix socket in a folder that only its user can
 * enter, with a token that is random at each start and never written.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { AUTHENTICATED_GROUP, SUPERUSER_GROUP, type User } from '../../apimachinery/index.ts';
import { pushSocketPath } from '../../git/index.ts';
import type { ClusterAccess } from '../../kubernetes-client/index.ts';
import { type Authenticate, buildServer, type ServerDependencies } from '../../server/index.ts';

export interface ClusterSocket {
  /** Access to the API below a path. The socket is opened on first use. */
  access(root: string): Promise<ClusterAccess>;
  close(): Promise<void>;
}

const SYNC: User = {
  name: 'system:gitplane:endpoint-sync',
  groups: [SUPERUSER_GROUP, AUTHENTICATED_GROUP],
};

export function clusterSocket(dataDir: string, dependencies: ServerDependencies): ClusterSocket {
  const token = randomBytes(32).toString('base64url');
  const socketPath = join(dirname(pushSocketPath(dataDir)), 'api.sock');
  let opened: Promise<FastifyInstance> | undefined;
  const open = async (): Promise<FastifyInstance> => {
    const authenticate: Authenticate = (given) =>
      isSame(given, token) ? { user: SYNC } : { message: 'only the daemon may use this socket' };
    await mkdir(dirname(socketPath), { recursive: true, mode: 0o700 });
    // The daemon already owns the data directory, so no process can be listening there.
    await rm(socketPath, { force: true });
    const server = buildServer({ ...dependencies, authenticate, tokenHolders: undefined }, {});
    await server.listen({ path: socketPath });
    await chmod(socketPath, 0o600);
    return server;
  };
  return {
    access: async (root) => {
      opened ??= open();
      await opened;
      return { server: `http://gitplane${root}`, socketPath, token };
    },
    close: async () => {
      const server = await opened?.catch(() => undefined);
      await server?.close();
    },
  };
}

function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}
