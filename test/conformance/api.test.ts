/** The daemon gives the verdicts of a real API server, but for the differences that are meant. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { type Judged, judge } from './api/case.ts';
import { CASES } from './api/cases/all.ts';
import { DIFFERENCES, differenceOf, differingSteps } from './api/differences.ts';
import { isRecording, readVerdicts, writeVerdicts } from './api/verdicts.ts';

const AREAS = Object.keys(CASES);
const PAGE = readFileSync(join(import.meta.dirname, '../../docs/api-differences.md'), 'utf8');

let daemon: Daemon;
let judged: Readonly<Record<string, Judged>>;

beforeAll(async () => {
  daemon = await startDaemon({ seed: undefined });
  judged = await judge(
    {
      url: `${daemon.url}/kubernetes/management`,
      token: daemon.token,
      ca: readFileSync(join(daemon.dataDir, 'tls/ca.crt'), 'utf8'),
    },
    CASES,
  );
  if (!isRecording) return;
  const own = AREAS.flatMap((area) => differingSteps(readVerdicts(area), judged[area] ?? {}));
  writeVerdicts('gitplane', Object.fromEntries(own.map(({ id, ours }) => [id, ours])));
});

afterAll(async () => {
  await daemon?.stop();
});

const ours = readVerdicts('gitplane') as Readonly<Record<string, unknown>>;

describe.each(AREAS)('%s', (area) => {
  const cases = CASES[area] ?? [];

  test.each(cases.map(({ name }) => name))('%s', (name) => {
    const expected = readVerdicts(area)[name] ?? {};
    const found = judged[area]?.[name] ?? {};
    const wanted = Object.fromEntries(
      Object.entries(expected).map(([step, theirs]) => [step, ours[`${name} › ${step}`] ?? theirs]),
    );
    expect(found).toEqual(wanted);
  });
});

describe('differences', () => {
  const known = (): ReturnType<typeof differingSteps> =>
    AREAS.flatMap((area) => differingSteps(readVerdicts(area), judged[area] ?? {}));

  test('each is meant, and none is written down that is gone', () => {
    const unexplained = known().filter((step) => differenceOf(step) === undefined);
    expect(unexplained.map(({ id }) => id)).toEqual([]);
    expect(Object.keys(ours).sort()).toEqual(
      known()
        .map(({ id }) => id)
        .sort(),
    );
  });

  test.each(DIFFERENCES.map(({ heading }) => heading))(
    '"%s" has a place in the docs',
    (heading) => {
      expect(PAGE).toContain(`\n### ${heading}\n`);
      expect(known().map(differenceOf)).toContain(heading);
    },
  );
});
