/** Connection to an etcd cluster. */
export interface EtcdOptions {
  /** `host:port` of the members. If one fails, the next one is tried. */
  readonly endpoints: readonly string[];
  /** Absent: the connection is not encrypted. */
  readonly tls?: EtcdTls | undefined;
  readonly credentials?: EtcdCredentials | undefined;
  /** Time limit of a call over all members, in milliseconds; absent: 12,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Called when etcd is no longer the same store: another cluster answers at its addresses, or this one
   * was restored to an earlier time. All later calls fail.
   */
  readonly onReplaced?: ((reason: string) => void) | undefined;
}

/** PEM files. */
export interface EtcdTls {
  /** Absent: the authorities that Node trusts. */
  readonly ca?: Buffer | undefined;
  /** Client certificate and key: both or none. */
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
}

export interface EtcdCredentials {
  readonly username: string;
  /** Called at every authentication, so that the password can change at run time. */
  password(): string | Promise<string>;
}
