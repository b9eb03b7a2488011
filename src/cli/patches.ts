/**
 * `gitplane patches test`: what the endpoint patches of a vcluster.yaml do to objects, step by step
 * and without a cluster: which path matched, what went in, what came out, why something was skipped.
 */
import { basename, dirname } from 'node:path';
import {
  asKubeObject,
  type FieldError,
  formatFieldError,
  isRecord,
  type JsonObject,
  terminalJson,
  terminalText,
  valueAt,
} from '../apimachinery/index.ts';
import {
  checkEndpointsSetting,
  checkNamespacesSetting,
  compilePatches,
  type Direction,
  deadReverseExpressions,
  PatchEngine,
  type PatchProgram,
  readEndpointsSetting,
  readServicesSetting,
  roundTrip,
  type SyncedKindName,
  type TenantCluster,
  tenantClusterOf,
} from '../endpoint-patches/index.ts';
import { formatProblem, type Problem } from '../manifests/index.ts';
import { type ParsedOptions, readChoice, UsageError } from '../options/index.ts';
import { SYNCED_KINDS, syncedKindOf } from '../tenant-sync/index.ts';
import { committedFiles } from './committed-files.ts';
import { bytesOf, documentsOf, readObjects } from './objects-input.ts';
import { formatTrial, type Trial } from './patches-text.ts';
import { print } from './print.ts';

interface PatchesContext {
  readonly out: { write(text: string): void };
  readonly stdin: NodeJS.ReadableStream;
  /** One that runs already; without it one is started and ended. */
  readonly engine?: PatchEngine;
}

interface Tried {
  readonly objects: readonly JsonObject[];
  readonly direction: Direction;
  /** Objects are translated before they are patched, as the loop does it. */
  readonly isTranslated: boolean;
}

/** Resolves to the exit status: 1 when something is wrong with the file, or a patch failed. */
export async function patches(options: ParsedOptions, context: PatchesContext): Promise<number> {
  if (options.operands.join(' ') !== 'test') {
    throw new UsageError(
      'Say what to do: gitplane patches test -f vcluster.yaml -i endpoints.yaml',
    );
  }
  const output = readChoice(options, 'output', ['diff', 'json']);
  const file = options.required('file');
  const { config, problems } = await readConfig(options, file);
  if (problems.length > 0) {
    const text = `${problems.map(formatProblem).join('\n')}\n`;
    print(options, context.out, { text, json: { problems } });
    return 1;
  }
  const inputs = options.all('input');
  if (inputs.length === 0) throw new UsageError('Say which objects to try: -i endpoints.yaml');
  const objects = await readObjects(inputs, context.stdin);
  const tenant = tenantOf(options, { file, config });
  const programs = {
    Endpoints: compilePatches({ tenant, patches: readEndpointsSetting(config).patches }),
    Service: compilePatches({ tenant, patches: readServicesSetting(config).patches }),
  };
  const direction: Direction = options.isOn('reverse') ? 'reverse' : 'forward';
  const engine = context.engine ?? new PatchEngine();
  const isTranslated = direction === 'forward' && !options.isOn('patches-only');
  const tried: Tried = { objects, direction, isTranslated };
  const trials = await tryAll(engine, programs, tried);
  if (context.engine === undefined) await engine.close();
  context.out.write(output === 'json' ? jsonOf(trials) : terminalText(textOf(trials)));
  return trials.some(({ outcome }) => outcome.object === undefined) ? 1 : 0;
}

async function readConfig(
  options: ParsedOptions,
  path: string,
): Promise<{ config: JsonObject; problems: readonly Problem[] }> {
  const [document, ...others] = await documentsOf(path, await configBytes(options, path));
  if (others.length > 0) throw new UsageError(`${path} has more than one document`);
  if (document === undefined) return { config: {}, problems: [] };
  const located = (error: FieldError): Problem => ({
    path,
    ...document.locate(error.path, {
      atKey: error.unknownField === true,
      inside: error.at,
    }),
    message: formatFieldError(error),
  });
  const config = isRecord(document.value) ? (document.value as JsonObject) : {};
  const problems = [
    ...checkEndpointsSetting(document.value),
    ...checkNamespacesSetting(document.value, placeOf(options, { file: path, config })),
  ];
  const found = problems.length > 0 ? problems : deadReverseExpressions(config);
  return { config, problems: found.map(located) };
}

async function configBytes(options: ParsedOptions, path: string): Promise<Buffer> {
  const committed = await committedFiles(options);
  if (committed === undefined) return await bytesOf(path);
  try {
    const content = await committed.read(path);
    if (content !== undefined) return content;
    throw new UsageError(`Cannot read ${path}: commit ${committed.commit} has no such file`);
  } finally {
    await committed.close();
  }
}

interface TenantFile {
  readonly file: string;
  readonly config: JsonObject;
}

function tenantOf(options: ParsedOptions, of: TenantFile): TenantCluster {
  const { name, namespace } = placeOf(options, of);
  const referenceNames = readChoice(options, 'reference-names', ['short', 'concat']);
  const tenant = tenantClusterOf(name, of.config, { namespace, referenceNames });
  if (options.text('mode') === undefined) return tenant;
  return { ...tenant, mode: readChoice(options, 'mode', ['single', 'multi']) };
}

function placeOf(
  options: ParsedOptions,
  { file, config }: TenantFile,
): { name: string; namespace: string } {
  const name = options.text('tenant') ?? folderName(file);
  const said = valueAt(config, ['external', 'gitplane', 'namespace']);
  const usual = typeof said === 'string' ? said : `vcluster-${name}`;
  return { name, namespace: options.text('namespace') ?? usual };
}

/** `tenants/blue/vcluster.yaml` is that of the tenant blue. */
function folderName(file: string): string {
  const folder = dirname(file);
  return basename(dirname(folder)) === 'tenants' ? basename(folder) : 'my-vcluster';
}

async function tryAll(
  engine: PatchEngine,
  programs: Readonly<Record<SyncedKindName, PatchProgram>>,
  { objects, direction, isTranslated }: Tried,
): Promise<Trial[]> {
  const forward = direction === 'forward';
  return await Promise.all(
    objects.map(async (given) => {
      // Any other object is tried with the patches on Endpoints.
      const kind = syncedKindOf(given) ?? SYNCED_KINDS.Endpoints;
      const program = programs[kind.name];
      const object = isTranslated ? translated(given, program) : given;
      const ends = forward ? { virtualObject: given } : { hostObject: given };
      const outcome = await engine.apply(program, { object, direction, ...ends });
      const differences = forward ? await roundTrip(engine, program, { object, ...ends }) : [];
      return { name: nameOf(given), before: object, outcome, differences };
    }),
  );
}

/** As the patches of the loop find it: with the names and marks of the control-plane cluster. */
function translated(object: JsonObject, { tenant }: PatchProgram): JsonObject {
  const { metadata } = object;
  const kind = syncedKindOf(object);
  if (kind === undefined || !isRecord(metadata) || typeof metadata['name'] !== 'string') {
    return object;
  }
  const { namespace } = metadata;
  const placed = typeof namespace === 'string' ? object : inDefault(object, metadata);
  return kind.translate(asKubeObject(placed), tenant);
}

/** In the namespace `default`, as kubectl does. */
function inDefault(object: JsonObject, metadata: JsonObject): JsonObject {
  return { ...object, metadata: { ...metadata, namespace: 'default' } };
}

function nameOf({ kind, metadata }: JsonObject): string {
  const { name, namespace } = isRecord(metadata) ? metadata : {};
  const full = [namespace, name].filter((part) => typeof part === 'string').join('/');
  return `${typeof kind === 'string' ? kind : 'object'} ${full === '' ? 'without a name' : full}`;
}

function jsonOf(trials: readonly Trial[]): string {
  const results = trials.map(({ outcome, differences }) => ({
    object: outcome.object ?? null,
    report: outcome.report,
    roundTrip: differences,
  }));
  // One object by itself is what a script asks for most.
  return `${terminalJson(results.length === 1 ? results[0] : results)}\n`;
}

function textOf(trials: readonly Trial[]): string {
  return trials.map((trial) => `${formatTrial(trial)}\n`).join('\n');
}
