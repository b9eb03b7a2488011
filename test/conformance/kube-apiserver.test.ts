/**
 * The real API server of Kubernetes gives the verdicts that our tests compare ours with. It is built
 * by `npm run kubernetes`; where nobody did, this file says so and tests nothing.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasApiServer } from '../support/kube-apiserver/api-server.ts';
import { type Judged, judge } from './api/case.ts';
import { CASES } from './api/cases/all.ts';
import { definitions, type Kubernetes, startKubernetes } from './api/kubernetes.ts';
import { isRecording, readVerdicts, writeVerdicts } from './api/verdicts.ts';

if (!hasApiServer) {
  test.skip('kube-apiserver is not built (npm run kubernetes): it gave no verdicts', () => {});
}

describe.skipIf(!hasApiServer)('kube-apiserver', () => {
  let server: Kubernetes;
  let judged: Readonly<Record<string, Judged>>;

  beforeAll(async () => {
    server = await startKubernetes();
    judged = await judge(server.target, CASES);
    if (isRecording) for (const [area, found] of Object.entries(judged)) writeVerdicts(area, found);
  }, 300_000);

  afterAll(async () => {
    await server?.stop();
  });

  test('accepts every definition, as it is', async () => {
    expect((await definitions()).map(({ metadata }) => metadata.name)).toEqual(
      [
        'config',
        'users',
        'teams',
        'ownedaccesskeys',
        'sharedsecrets',
        'projectsecrets',
        'tenants',
      ].map((plural) => `${plural}.management.gitplane.dev`),
    );
    expect(await server.unestablished()).toEqual([]);
  });

  test.each(Object.keys(CASES))('gives the verdicts that are written down about %s', (area) => {
    expect(judged[area]).toEqual(readVerdicts(area));
  });
});
