/** The built package, imported by another program by its name. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { run, scratchDir } from '../support/daemon.ts';

const ROOT = join(import.meta.dirname, '../..');
let folder: string;

beforeAll(() => {
  folder = scratchDir();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/gitplane'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
});

const PROGRAM = `
import { checkEndpointsSetting, compilePatches, describeFailure, PatchEngine, readEndpointsSetting, roundTrip } from 'gitplane/endpoint-patches';

const config = { sync: { toHost: { endpoints: { patches: [
  { path: 'subsets[*].addresses[*].hostname', expression: 'value + "-" + context.vcluster.name', reverseExpression: 'value' },
] } } } };
const { patches } = readEndpointsSetting(config);
const tenant = { name: 'blue', namespace: 'vcluster-blue', config, mode: 'single' as const, referenceNames: 'short' as const };
const program = compilePatches({ tenant, patches });
const engine = new PatchEngine({ threads: 1, limits: { timeMs: 2000 } });
const object = { kind: 'Endpoints', metadata: { name: 'db' }, subsets: [{ addresses: [{ ip: '10.0.0.1', hostname: 'db-0' }] }] };
const { object: patched, report } = await engine.apply(program, { object, direction: 'forward' });
const differences = await roundTrip(engine, program, { object });
await engine.close();
const hostile = report.failure === undefined ? [] : [describeFailure(report.failure)];
const wrong = checkEndpointsSetting({ sync: { toHost: { endpoints: { patches: [{ path: 'a[', expression: '1' }] } } } });
const status: string | undefined = report.patches[0]?.status;
console.log(JSON.stringify({ patched, status, differences: differences.length, hostile, wrong: wrong.map(({ message }) => message) }));
`;

test('is imported by its name and does what it does here', async () => {
  const text = PROGRAM.replaceAll(' as const', '').replace(': string | undefined', '');
  writeFileSync(join(folder, 'program.mjs'), text);

  const { code, stdout, stderr } = await run(process.execPath, ['program.mjs'], { cwd: folder });

  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    patched: {
      kind: 'Endpoints',
      metadata: { name: 'db' },
      subsets: [{ addresses: [{ hostname: 'db-0-blue', ip: '10.0.0.1' }] }],
    },
    status: 'applied',
    differences: 1,
    hostile: [],
    wrong: [expect.stringContaining('unclosed bracket in path')],
  });
});

test('has types, which hold in the strictest of programs', async () => {
  writeFileSync(join(folder, 'program.mts'), PROGRAM);
  const wrong = `import { PatchEngine } from 'gitplane/endpoint-patches';\nnew PatchEngine({ threads: 'two' });\n`;
  writeFileSync(join(folder, 'wrong.mts'), wrong);
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2023', strict: true, noEmit: true, skipLibCheck: false },
    ...{ types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] },
  };
  const files = ['program.mts', 'wrong.mts'];
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');

  const { code, stdout } = await run(process.execPath, [tsc, '-p', folder], { cwd: folder });

  expect(code).not.toBe(0);
  const [only, ...others] = stdout.split('\n').filter((line) => line.includes('error'));
  expect(only).toMatch(/^wrong\.mts\(2,19\): error TS2322: Type 'string' is not assignable/);
  expect(others).toEqual([]);
});

test('shows nothing else of the program', async () => {
  const text = `await import('gitplane/dist/daemon/daemon.js')`;
  const { code, stderr } = await run(process.execPath, ['-e', text], { cwd: folder });

  expect(code).not.toBe(0);
  expect(stderr).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
});
