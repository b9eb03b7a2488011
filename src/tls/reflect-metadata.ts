/**
 * The three functions of the Reflect metadata proposal that @peculiar/x509 needs at import time (for
 * the container it registers its algorithms in). Import this file before that library.
 */

type Metadata = Map<unknown, unknown>;

const metadata = new WeakMap<object, Metadata>();

function defineMetadata(key: unknown, value: unknown, target: object): void {
  const own: Metadata = metadata.get(target) ?? new Map();
  own.set(key, value);
  metadata.set(target, own);
}

function getOwnMetadata(key: unknown, target: object): unknown {
  return metadata.get(target)?.get(key);
}

function getMetadata(key: unknown, target: object): unknown {
  for (let at: object | null = target; at !== null; at = Reflect.getPrototypeOf(at)) {
    if (metadata.get(at)?.has(key)) return getOwnMetadata(key, at);
  }
  return undefined;
}

if (!('getMetadata' in Reflect)) {
  Object.assign(Reflect, { defineMetadata, getOwnMetadata, getMetadata });
}
