/** Effects of changed tenants on Endpoints and Services that are given, for plans without a daemon. */
import { asKubeObject, type KubeObject } from '../apimachinery/index.ts';
import { PatchEngine } from '../endpoint-patches/index.ts';
import type { ComputeEffects } from '../history/index.ts';
import { tenantVersions } from '../kinds/index.ts';
import { type ParsedOptions, readChoice, UsageError } from '../options/index.ts';
import { effectsOf, type Observed, syncedKindOf } from '../tenant-sync/index.ts';
import { readObjects } from './objects-input.ts';

export interface EffectsOnInput {
  readonly computeEffects: ComputeEffects;
  close(): Promise<void>;
}

/** Undefined: no Endpoints are given, so there is nothing to show. */
export async function effectsOnInput(
  options: ParsedOptions,
  stdin: NodeJS.ReadableStream,
): Promise<EffectsOnInput | undefined> {
  const names = readChoice(options, 'reference-names', ['short', 'concat']);
  const paths = options.all('endpoints');
  if (paths.length === 0) return undefined;
  const observed = observedIn((await readObjects(paths, stdin)).map(asKubeObject));
  const runner = new PatchEngine();
  return {
    computeEffects: (change) => effectsOf({ ...tenantVersions(change, names), observed, runner }),
    close: () => runner.close(),
  };
}

/** Services that are given are synced as well, and say which Endpoints are. */
function observedIn(objects: readonly KubeObject[]): Observed[] {
  const all = objects.map((object) => {
    const { namespace = 'default', name = '', ...metadata } = object.metadata ?? {};
    return { ...object, metadata: { ...metadata, namespace, name } };
  });
  const services = new Map<string, KubeObject>();
  for (const object of all) if (object.kind === 'Service') services.set(idOf(object), object);
  if (!all.some(({ kind }) => kind === 'Endpoints')) {
    throw new UsageError('The files of --endpoints contain no Endpoints');
  }
  return all.flatMap((object) => {
    const kind = syncedKindOf(object);
    const service = services.size === 0 ? null : services.get(idOf(object));
    return kind === undefined ? [] : [{ kind, object, service }];
  });
}

function idOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}
