/** Parses and validates the options of `gitplane serve` for replicas. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseGoDuration } from '../../apimachinery/index.ts';
import { errnoOf, StartError } from '../../bootstrap/index.ts';
import type { EtcdOptions, EtcdTls, RemoteEtcd } from '../../etcd/index.ts';
import { type WatchTimes, watchFiles } from '../../files/index.ts';
import {
  type Address,
  type ParsedOptions,
  parseAddress,
  readPath,
  UsageError,
} from '../../options/index.ts';
import type { Logger } from '../../telemetry/index.ts';

/** An etcd, and the key prefix of a platform in it. */
export interface EtcdLocation {
  /** `host:port`. */
  readonly endpoints: readonly string[];
  /** PEM files. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly user: string | undefined;
  readonly passwordFile: string | undefined;
  /** Ends with a slash. */
  readonly prefix: string;
  readonly stateKey: string;
}

export interface ReplicaOptions extends EtcdLocation {
  readonly leaseSeconds: number;
  readonly listenPeer: Address;
  /** `host:port`; undefined: that of the listener. */
  readonly advertisePeer: string | undefined;
  /** Interval of etcd compaction in milliseconds; undefined: another process compacts it. */
  readonly compactEvery: number | undefined;
}

const ETCD = /^etcd:\/\/(.+)$/;
const ENDPOINT = /^(?:\[[0-9a-fA-F:]+\]|[^\s:,/]+):\d{1,5}$/;
const REMEDY =
  'make one with `openssl rand -hex 32 > state.key` and give the same file to every replica';

/** Undefined: the state is embedded. Throws UsageError. */
export function readReplicaOptions(options: ParsedOptions): ReplicaOptions | undefined {
  const place = readEtcdLocation(options, 'state');
  if (place === undefined) return undefined;
  return {
    ...place,
    leaseSeconds: readLease(options.required('leader-lease')),
    listenPeer: parseAddress('listen-peer', options.required('listen-peer')),
    advertisePeer: options.text('advertise-peer'),
    compactEvery: readCompaction(options.required('etcd-compaction')),
  };
}

/** Parses the location of a state; undefined: embedded. Throws UsageError. */
export function readEtcdLocation(options: ParsedOptions, name: string): EtcdLocation | undefined {
  const state = options.required(name);
  if (state === 'embedded') return undefined;
  const endpoints = ETCD.exec(state)?.[1]?.split(',') ?? [];
  if (endpoints.length === 0 || !endpoints.every((endpoint) => ENDPOINT.test(endpoint))) {
    throw new UsageError(
      `Cannot use --${name} ${JSON.stringify(state)}: write embedded, or etcd://HOST:PORT[,HOST:PORT…]`,
    );
  }
  const stateKey = options.text('state-key');
  if (stateKey === undefined) {
    throw new UsageError(`--${name} etcd://… needs --state-key: ${REMEDY}`);
  }
  const prefix = options.required('etcd-prefix');
  return {
    endpoints,
    ca: readPath(options, 'etcd-ca'),
    cert: readPath(options, 'etcd-cert'),
    key: readPath(options, 'etcd-key'),
    user: options.text('etcd-user'),
    passwordFile: readPath(options, 'etcd-password-file'),
    prefix: prefix.endsWith('/') ? prefix : `${prefix}/`,
    stateKey: resolve(stateKey),
  };
}

const LEAST_COMPACTION_MS = 60_000;

function readCompaction(text: string): number | undefined {
  if (text === 'off') return undefined;
  const ms = parseGoDuration(text);
  if (ms !== undefined && ms >= LEAST_COMPACTION_MS && ms <= 86_400_000) return ms;
  throw new UsageError(`Cannot use --etcd-compaction "${text}": write 1m to 24h, or off`);
}

function readLease(text: string): number {
  const seconds = /^\d{1,3}s?$/.test(text) ? Number.parseInt(text, 10) : Number.NaN;
  if (seconds >= 2 && seconds <= 60) return seconds;
  throw new UsageError(`Cannot use --leader-lease "${text}": write 2 to 60 seconds`);
}

/** Throws StartError for a file that cannot be read. */
export function etcdOptions(place: EtcdLocation): EtcdOptions {
  const { endpoints, ca, cert, key, user, passwordFile } = place;
  const isSecure = ca !== undefined || cert !== undefined;
  return {
    endpoints,
    ...(isSecure
      ? {
          tls: {
            ca: read('etcd-ca', ca),
            cert: read('etcd-cert', cert),
            key: read('etcd-key', key),
          },
        }
      : {}),
    ...(user === undefined
      ? {}
      : {
          credentials: {
            username: user,
            password: () => read('etcd-password-file', passwordFile)?.toString().trim() ?? '',
          },
        }),
  };
}

/**
 * Reloads the certificates and the key for etcd when their files change. Unusable files are logged, and
 * the current ones stay. Returns a function that stops it.
 */
export function followEtcdFiles(
  of: { etcd: Pick<RemoteEtcd, 'useTls'>; replica: EtcdLocation; logger: Logger },
  times: WatchTimes = {},
): () => void {
  const { etcd, replica, logger } = of;
  const { ca, cert, key } = replica;
  const files = [ca, cert, key].filter((file) => file !== undefined);
  if (files.length === 0) return () => undefined;
  let current = etcdOptions(replica).tls;
  return watchFiles(
    files,
    () => {
      try {
        const { tls } = etcdOptions(replica);
        if (tls === undefined || isSame(tls, current)) return;
        etcd.useTls(tls);
        current = tls;
        logger.info({ ca, cert, key }, 'The newer files for etcd are used');
      } catch (err) {
        const remedy = 'Put a certificate and its private key there; they are read again then';
        logger.error({ err, ca, cert, key, remedy }, 'The newer files for etcd cannot be used');
      }
    },
    times,
  );
}

function isSame(one: EtcdTls, other: EtcdTls | undefined): boolean {
  const pairs = [
    [one.ca, other?.ca],
    [one.cert, other?.cert],
    [one.key, other?.key],
  ] as const;
  return pairs.every(([a, b]) => (a === undefined ? b === undefined : b?.equals(a) === true));
}

function read(option: string, file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file);
  } catch (error) {
    const why = errnoOf(error) ?? String(error);
    throw new StartError(`Cannot read --${option} ${file}: ${why}`, { cause: error });
  }
}
