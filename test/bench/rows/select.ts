/** Lists with a selector: a hundred objects of all that there are, and one by its name. */
import { startBareServer } from '../bare-server.ts';
import { secretName } from '../corpus.ts';
import { API } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { type Endpoint, requestBytes } from '../http-connection.ts';
import { throughput } from '../load.ts';
import type { Line } from '../report.ts';
import { summarize } from '../statistics.ts';
import { bodyOf } from './read.ts';

/** A scan takes tens of milliseconds, so a few are enough. */
const CONNECTIONS = 4;
const WARM_UP_MS = 1000;
const MEASURED_MS = 2000;
const LABEL = 'app.kubernetes.io/part-of';

export async function measureSelect(fixture: Fixture): Promise<Line[]> {
  const { corpus } = fixture;
  const daemon = await fixture.start(await fixture.platform());
  const middle = Math.floor(corpus.secrets / 2);
  const namespace = corpus.namespaceOf(middle);
  const request = (query: string): Buffer =>
    requestBytes({ method: 'GET', path: `${API}/sharedsecrets${query}`, token: daemon.token });
  const labelled = request(`?labelSelector=${encodeURIComponent(`${LABEL}=${namespace}`)}`);
  const named = request(`?fieldSelector=metadata.name%3D${secretName(middle)}`);
  try {
    const all = await bodyOf(daemon.http, request(''));
    const reference = await startBareServer(fixture.workspace, {
      style: 'select',
      body: all.toString('base64'),
      status: 200,
      label: [LABEL, namespace],
    });
    const naive = { port: reference.port };
    const rates = { labelled: [] as number[], named: [] as number[], naive: [] as number[] };
    await rate(naive, labelled, WARM_UP_MS);
    await rate(daemon.http, labelled, WARM_UP_MS);
    for (let i = 0; i < fixture.repetitions; i++) {
      rates.labelled.push(await rate(daemon.http, labelled, MEASURED_MS));
      rates.named.push(await rate(daemon.http, named, MEASURED_MS));
      rates.naive.push(await rate(naive, labelled, MEASURED_MS));
    }
    reference.close();
    const of = `of ${corpus.secrets} objects`;
    const beside = { name: 'filter, JSON.stringify', measured: summarize(rates.naive) };
    return [
      { name: `LIST by a label, 100 ${of}`, unit: '/s', measured: summarize(rates.labelled) },
      { name: `LIST by a name, 1 ${of}`, unit: '/s', measured: summarize(rates.named) },
    ].map((line) => ({ ...line, unit: '/s', reference: beside }) as const);
  } finally {
    await daemon.stop();
  }
}

function rate(endpoint: Endpoint, request: Buffer, ms: number): Promise<number> {
  return throughput({
    endpoint,
    connections: CONNECTIONS,
    status: 200,
    ms,
    next: () => request,
  });
}
