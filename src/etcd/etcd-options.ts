/** How an etcd is reached. */
export interface EtcdOptions {
  /** `host:port`; the next one is asked where one fails. */
  readonly endpoints: readonly string[];
  /** Absent: everything goes in the clear. */
  readonly tls?: EtcdTls | undefined;
  readonly credentials?: EtcdCredentials | undefined;
  /** Milliseconds that members are tried for until a call fails; absent: 12,000. */
  readonly patience?: number | undefined;
  /**
   * Called when etcd is not what it was: another cluster answers under its addresses, or this one
   * was put back to an earlier time. Whatever is asked of it is refused from then on.
   */
  readonly onReplaced?: ((reason: string) => void) | undefined;
}

/** PEM. */
export interface EtcdTls {
  /** Absent: the authorities that Node trusts. */
  readonly ca?: Buffer | undefined;
  /** Both or none. */
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
}

export interface EtcdCredentials {
  readonly username: string;
  /** Asked at every signing in, so that it can be changed while we run. */
  password(): string | Promise<string>;
}
