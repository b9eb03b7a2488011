/**
 * What the audit log costs: GETs and creates with and without it, in turn, at the level that records
 * the most; with one event a request, as the prepared policies have it, and with both stages.
 */
import { configure } from '../configure.ts';
import { secretName } from '../corpus.ts';
import { API, type DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { requestBytes } from '../http-connection.ts';
import { throughput } from '../load.ts';
import { type Line, withGoal } from '../report.ts';
import { summarize } from '../statistics.ts';
import { createRequest } from './write.ts';

const CONNECTIONS = 50;
const WARM_UP_MS = 1500;
const MEASURED_MS = 1500;
const GOAL = { atLeast: 0.85 };

const everything = (omitted: string): string =>
  `audit: {enabled: true, path: audit/, maxBackups: 1, policy: {omitStages: [${omitted}], rules: [{level: RequestResponse}]}}\n`;

const AUDIT = {
  off: 'audit: {enabled: false}\n',
  'one event': everything('RequestReceived'),
  'both stages': everything(''),
} as const;
type Setting = keyof typeof AUDIT;

interface Samples {
  /** A second. */
  readonly rates: number[];
  /** Processor time of the daemon a request, in microseconds. */
  readonly costs: number[];
}

export async function measureAudit(fixture: Fixture): Promise<Line[]> {
  const daemon = await fixture.start(await fixture.copyOfPlatform());
  try {
    await configure(daemon, 'POST', AUDIT.off);
    const { token } = daemon;
    const middle = Math.floor(fixture.corpus.secrets / 2);
    const folder = `${API}/namespaces/${fixture.corpus.namespaceOf(middle)}/sharedsecrets`;
    const read = requestBytes({ method: 'GET', path: `${folder}/${secretName(middle)}`, token });
    const team = requestBytes({ method: 'GET', path: `${API}/teams/team-00000`, token });
    let made = 0;
    const loads = [
      { name: 'GET one secret', status: 200, next: () => read },
      { name: 'GET one team', status: 200, next: () => team },
      { name: 'create', status: 201, next: () => createRequest(fixture, token, made++) },
    ];
    const lines: Line[] = [];
    for (const load of loads) lines.push(...(await compare(fixture, daemon, load)));
    return lines;
  } finally {
    await daemon.stop();
  }
}

interface Asked {
  readonly name: string;
  readonly status: number;
  next(): Buffer;
}

/** In turn, so that noise falls on both. */
async function compare(fixture: Fixture, daemon: DaemonProcess, asked: Asked): Promise<Line[]> {
  const samples: Record<Setting, Samples> = {
    off: { rates: [], costs: [] },
    'one event': { rates: [], costs: [] },
    'both stages': { rates: [], costs: [] },
  };
  for (let i = 0; i <= fixture.repetitions; i++) {
    for (const setting of ['off', 'one event', 'both stages'] as const) {
      await configure(daemon, 'PATCH', AUDIT[setting]);
      const isWarmUp = i === 0;
      const { rate, cost } = await measure(daemon, asked, isWarmUp ? WARM_UP_MS : MEASURED_MS);
      if (isWarmUp) continue;
      samples[setting].rates.push(rate);
      samples[setting].costs.push(cost);
    }
  }
  return (['one event', 'both stages'] as const).flatMap((setting) => {
    const line = (what: keyof Samples): Pick<Line, 'measured' | 'reference'> => ({
      measured: summarize(samples[setting][what]),
      reference: { name: 'without the audit log', measured: summarize(samples.off[what]) },
    });
    const name = `${asked.name}, RequestResponse, ${setting}`;
    return [
      withGoal({ name, unit: '/s', ...line('rates') }, GOAL),
      { name: `${name}, processor`, unit: 'us', ...line('costs') },
    ];
  });
}

async function measure(
  daemon: DaemonProcess,
  { status, next }: Asked,
  ms: number,
): Promise<{ rate: number; cost: number }> {
  const before = daemon.processorMs() ?? 0;
  const load = { endpoint: daemon.http, connections: CONNECTIONS, status, ms, next };
  const started = performance.now();
  const rate = await throughput(load);
  const requests = (rate * (performance.now() - started)) / 1000;
  return { rate, cost: (((daemon.processorMs() ?? 0) - before) * 1000) / requests };
}
